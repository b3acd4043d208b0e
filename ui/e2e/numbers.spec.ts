// UI-7: a number is what was written, wherever the console reads and writes it.
import { ADMIN, api, expect, rest, signIn, test, url } from "./base";
import { type Upstream, upstream } from "./upstream";

const BIG = "9007199254740993";
const mark = `numbers${Date.now()}`;
let echo: Upstream;

/** Bodies are texts here: whoever parses them sees other numbers. */
async function text(method: string, path: string, body?: string): Promise<string> {
  const headers = { Authorization: `Bearer ${ADMIN}`, "Content-Type": "application/json" };
  const response = await fetch(`${api()}/api/v1${path}`, { method, headers, body });
  expect(response.ok, path).toBe(true);
  return response.text();
}

test.beforeAll(async () => {
  echo = await upstream((request, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(`{"path":"${request.url}","id":12345678901234567890,"price":1.0}`);
  });
  const parameters = [
    { name: "id", position: "query" },
    { name: "n", position: "query", parameter_type: "Integer" },
  ];
  const tools = [{ id: "all", endpoint: "/all", parameters }];
  await rest("POST", "/services", { type: "api", id: mark, config: { base_url: echo.url }, tools });
});
test.afterAll(() => echo.stop());
test.beforeEach(({ page }) => signIn(page));

test("an agent's settings are saved as they were, but for what is typed", async ({ page }) => {
  const extra = `{"seed":${BIG},"f":1.0}`;
  const config = `{"provider":"openai","base_url":"http://127.0.0.1:9/v1","api_key":"k","model":"m","extra":${extra}}`;
  await text("POST", "/services", `{"type":"agent","id":"${mark}-agent","config":${config}}`);
  await page.goto(`${url()}/ui/services/agent/${mark}-agent?tab=settings`);
  await page.getByRole("textbox", { name: "Description" }).fill("typed");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("status", { name: "Saved" })).toBeVisible();
  const saved = await text("GET", `/services/agent/${mark}-agent`);
  expect(saved).toContain(`"seed":${BIG}`);
  expect(saved).toContain('"f":1.0');
  expect(saved).toContain('"description":"typed"');
  await rest("DELETE", `/services/agent/${mark}-agent?force=true`);
});

test("a flow's draft is changed on the canvas where something was typed alone", async ({ page }) => {
  const source = `nodes:\n  one: {exec: "api://${mark}/all", args: {id: x, n: ${BIG}}}\n`;
  await rest("POST", "/flows", { id: mark, source });
  await page.goto(`${url()}/ui/flows/${mark}`);
  await page.getByRole("group", { name: /Step one/ }).click();
  await page.getByRole("textbox", { name: "ID", exact: true }).fill("y");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("status", { name: "Saved" })).toBeVisible();
  const { source: saved } = await rest<{ source: string }>("GET", `/flows/${mark}`);
  expect(saved).toBe(source.replace("id: x", "id: y"));
});

test("a call is sent and answered with the numbers that are typed and come", async ({ page }) => {
  await page.goto(`${url()}/ui/try?uri=api://${mark}/all`);
  await page.getByRole("textbox", { name: "N", exact: true }).pressSequentially(BIG);
  await page.getByRole("tab", { name: "JSON" }).click();
  await expect(page.getByRole("textbox", { name: "JSON" })).toContainText(`"n": ${BIG}`);
  await page.getByRole("button", { name: "Run" }).click();
  const answer = page.getByRole("region", { name: "Answer", exact: true });
  await expect(answer).toContainText(`n=${BIG}`);
  await expect(answer).toContainText('"id": 12345678901234567890');
  await expect(answer).toContainText('"price": 1.0');
});

test("a table shows the numbers that it holds", async ({ page }) => {
  const made = await text("POST", "/tables", `{"name":"${mark}","data":[{"id":12345678901234567890,"price":1.0}]}`);
  const { id } = JSON.parse(made) as { id: string };
  await page.goto(`${url()}/ui/tables/${id}?tab=grid`);
  await expect(page.getByRole("cell", { name: "12345678901234567890" })).toBeVisible();
  await page.getByRole("tab", { name: "Query" }).click();
  await expect(page.getByRole("region", { name: "Result" })).toContainText('"id": 12345678901234567890');
});
