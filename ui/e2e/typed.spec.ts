// What is typed is what is sent: lines stay lines, names stay apart, and what cannot be read is not passed over.
import type { Page } from "@playwright/test";
import { expect, rest, signIn, test, url } from "./base";
import { type Upstream, upstream } from "./upstream";

const mark = (name: string) => `${name}${Date.now()}`;
const PEM = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIU\nq83vEjRWeJA=\n-----END CERTIFICATE-----\n";
let echo: Upstream;

test.beforeAll(async () => {
  echo = await upstream((request, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ path: request.url }));
  });
});
test.afterAll(() => echo.stop());
test.beforeEach(({ page }) => signIn(page));

/** Pastes as people do: into what has the focus, with the lines of the text. */
async function paste(page: Page, text: string): Promise<void> {
  await page.evaluate((given) => {
    const data = new DataTransfer();
    data.setData("text/plain", given);
    const target = document.activeElement as HTMLInputElement;
    const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
    // What nobody takes, browsers put in themselves: without the lines where a field has one line only.
    if (target.dispatchEvent(event)) document.execCommand("insertText", false, given);
  }, text);
}

async function makeTool(id: string, parameters: object[]): Promise<void> {
  const config = { base_url: echo.url, retry: { max_attempts: 1 } };
  await rest("POST", "/services", { type: "api", id, config, tools: [{ id: "get", endpoint: "/x", parameters }] });
}

/** UI-7: texts of several lines, as certificates and instructions are, go in and come out with their lines. */
test("a text keeps its lines, whether it is pasted, typed or was there", async ({ page }) => {
  const id = mark("lines");
  const config = { provider: "openai", base_url: "http://127.0.0.1:9/v1", api_key: "k", model: "m" };
  await rest("POST", "/services", { type: "agent", id, config: { ...config, instructions: "Be kind.\nBe short." } });
  await page.goto(`${url()}/ui/services/agent/${id}?tab=settings`);
  const field = page.getByRole("textbox", { name: "Instructions" });
  await expect(field).toHaveValue("Be kind.\nBe short.");
  await field.press("Control+End");
  await page.keyboard.press("Enter");
  await page.keyboard.type("Be right.");
  const description = page.getByRole("textbox", { name: "Description" }).first();
  await description.focus();
  await page.keyboard.type("One line");
  await page.keyboard.press("Enter");
  await page.keyboard.type("and another");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("status", { name: "Saved" })).toBeVisible();
  type Saved = { description: string; config: { instructions: string } };
  const saved = await rest<Saved>("GET", `/services/agent/${id}`);
  expect(saved.config.instructions).toBe("Be kind.\nBe short.\nBe right.");
  expect(saved.description).toBe("One line\nand another");
  await rest("DELETE", `/services/agent/${id}?force=true`);
});

/** UI-7 and UI-8: what is secret keeps its lines as well, and nobody reads it over a shoulder. */
test("a certificate and its key are pasted with their lines", async ({ page }) => {
  await page.goto(`${url()}/ui/services/new?type=api`);
  await page.getByRole("textbox", { name: "Id", exact: true }).fill(mark("pem"));
  await page.getByRole("textbox", { name: "Base URL" }).fill("https://127.0.0.1:9");
  await page.getByText("Advanced", { exact: true }).first().click();
  const certificate = page.getByRole("textbox", { name: "Certificate", exact: true });
  await certificate.focus();
  await paste(page, PEM);
  await expect(certificate).toHaveValue(PEM);
  const key = page
    .getByRole("group", { name: /^(TLS|Encryption)/ })
    .last()
    .getByRole("textbox", { name: /key/i });
  await key.focus();
  await paste(page, PEM.replaceAll("CERTIFICATE", "PRIVATE KEY"));
  await expect(key).toHaveValue(/KEY-----\nMII/);
  await expect(key).toBeFocused();
  expect(await key.evaluate((field) => getComputedStyle(field).getPropertyValue("-webkit-text-security"))).toBe("disc");
  const [sent] = await Promise.all([
    page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/api/v1/services")),
    page.getByRole("button", { name: "Save" }).click(),
  ]);
  expect(JSON.stringify(sent.postDataJSON().config.tls)).toContain(JSON.stringify(PEM).slice(1, -1));
  expect(JSON.stringify(sent.postDataJSON().config.tls)).toContain("PRIVATE KEY-----\\nMII");
});

/** UI-7: an argument of several lines is sent as it was typed, and Enter runs what has one line. */
test("an argument has as many lines as it was given", async ({ page }) => {
  const id = mark("argument");
  await makeTool(id, [{ name: "q", position: "query", required: true }]);
  await page.goto(`${url()}/ui/try?uri=api://${id}/get`);
  const field = page.getByRole("textbox", { name: "Q", exact: true });
  await field.focus();
  await page.keyboard.type("one");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("two");
  await expect(field).toHaveValue("one\ntwo");
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByRole("region", { name: "Answer", exact: true })).toContainText("one%0Atwo");
  await field.fill("three");
  await field.press("Enter");
  await expect(page.getByRole("region", { name: "Answer", exact: true })).toContainText("/x?q=three");
});

/** Puts a text into an editor, over what was there. */
async function write(page: Page, name: string, text: string): Promise<void> {
  await page.getByRole("textbox", { name, exact: true }).focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

/** UI-9: what is no JSON is not sent, nor what stood there before it. */
test("arguments that are no JSON are not run", async ({ page }) => {
  const id = mark("broken");
  await makeTool(id, [{ name: "id", position: "query", parameter_type: "Integer" }]);
  await page.goto(`${url()}/ui/try?${new URLSearchParams({ uri: `api://${id}/get`, args: '{"id":1}' })}`);
  await page.getByRole("tab", { name: "JSON" }).click();
  await write(page, "JSON", '{"id":2');
  const called: string[] = [];
  page.on("request", (request) => request.url().includes("/api/v1/call") && called.push(request.url()));
  await page.getByRole("button", { name: "Run" }).click();
  const editor = page.getByRole("textbox", { name: "JSON" });
  await expect(editor).toBeFocused();
  await expect(editor).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByRole("form", { name: "Arguments" })).toContainText("no JSON yet");
  await expect(page.getByRole("alert")).toContainText("JSON");
  expect(called).toEqual([]);
  await page.keyboard.press("Control+End");
  await page.keyboard.type("}");
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByRole("region", { name: "Answer", exact: true })).toContainText("/x?id=2");
});

test("settings, Tools and inputs that are no JSON are not saved", async ({ page }) => {
  const id = mark("unsaved");
  const config = {
    provider: "openai",
    base_url: "http://127.0.0.1:9/v1",
    api_key: "k",
    model: "m",
    extra: { seed: 1 },
  };
  await rest("POST", "/services", { type: "agent", id, config });
  await makeTool(id, [{ name: "q", position: "query" }]);
  const uri = { name: id, type: "uri", uri: `api://${id}/get`, arguments: { q: "hi" } };
  const tool = await rest<{ id: string }>("POST", "/tools", uri);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the flow's own expressions
  const source = 'inputs: {any: "any?"}\nnodes: {a: {with: "${any}"}}\n';
  await rest("POST", "/flows", { id, source });
  const sent: string[] = [];
  page.on("request", (request) => {
    if (["PATCH", "POST", "PUT"].includes(request.method()) && !request.url().includes("validate"))
      sent.push(`${request.method()} ${request.url()}`);
  });
  await page.goto(`${url()}/ui/services/agent/${id}?tab=settings`);
  await expect(page.getByText("Advanced", { exact: true }).first()).toBeVisible();
  for (const more of await page.getByText("Advanced", { exact: true }).all()) await more.click();
  await write(page, "More fields", '{"seed": 2');
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("textbox", { name: "More fields", exact: true })).toBeFocused();
  await page.goto(`${url()}/ui/tools/${tool.id}`);
  await write(page, "Fixed arguments", '{"q": ');
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("textbox", { name: "Fixed arguments" })).toBeFocused();
  await page.goto(`${url()}/ui/flows/${id}`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Inputs" });
  await dialog.getByRole("tab", { name: "JSON" }).click();
  await write(page, "Inputs", '{"any": ');
  await dialog.getByRole("button", { name: "Run" }).click();
  await expect(dialog.getByRole("textbox", { name: "Inputs" })).toBeFocused();
  expect(sent).toEqual([]);
  await rest("DELETE", `/services/agent/${id}?force=true`);
});

/** What one approval is given is nothing to another one. */
test("an approval waits for its own JSON alone", async ({ page }) => {
  const id = mark("two");
  const ask = (name: string) =>
    `  ${name}: {approval: {title: "${name} of ${id}", fields: {type: object, properties: {any: {}}}}}\n`;
  await rest("POST", "/flows", { id, source: `nodes:\n${ask("one")}${ask("other")}` });
  await rest("POST", `/flows/${id}/runs`, { version: "draft", inputs: {}, wait_seconds: 1 });
  await page.goto(`${url()}/ui/approvals`);
  const row = (name: string) => page.getByRole("row").filter({ hasText: `${name} of ${id}` });
  await row("one").getByRole("textbox", { name: "Any" }).focus();
  await page.keyboard.insertText("[1");
  await row("one").getByRole("button", { name: "Approve" }).click();
  await expect(row("one").getByRole("textbox", { name: "Any" })).toBeFocused();
  await row("other").getByRole("button", { name: "Approve" }).click();
  await expect(page.getByRole("status", { name: "Approved" })).toBeVisible();
  await expect(row("other")).toHaveCount(0);
  await expect(row("one")).toHaveCount(1);
});

/** UI-7: entries of a map are the ones that were typed, in the order in which they were. */
test("a map keeps what was typed before its name, and names that look like numbers", async ({ page }) => {
  await page.goto(`${url()}/ui/services/new?type=api`);
  await page.getByRole("textbox", { name: "Id", exact: true }).fill(mark("map"));
  await page.getByRole("textbox", { name: "Base URL" }).fill("http://127.0.0.1:9");
  const headers = page.getByRole("group", { name: "Default headers", exact: true });
  if (!(await headers.isVisible())) await page.getByText("Advanced", { exact: true }).first().click();
  const name = (at: number) => headers.getByRole("textbox", { name: "Name", exact: true }).nth(at);
  const value = (at: number) => headers.getByRole("textbox", { name: "Value", exact: true }).nth(at);
  await headers.getByRole("button", { name: "Add" }).click();
  await value(0).fill("first");
  await headers.getByRole("button", { name: "Add" }).click();
  await expect(value(0)).toHaveValue("first");
  await value(1).fill("second");
  await name(0).fill("b");
  await name(1).focus();
  await page.keyboard.type("12");
  await expect(name(0)).toHaveValue("b");
  await expect(name(1)).toHaveValue("12");
  await headers.getByRole("button", { name: "Add" }).click();
  await name(2).fill("b");
  await expect(name(2)).toHaveAttribute("aria-invalid", "true");
  await name(2).fill("bc");
  await value(2).fill("third");
  const [sent] = await Promise.all([
    page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/api/v1/services")),
    page.getByRole("button", { name: "Save" }).click(),
  ]);
  const { default_headers } = sent.postDataJSON().config;
  expect(default_headers).toEqual({ b: "first", "12": "second", bc: "third" });
  // Objects begin with what looks like a number; everything else is in the order in which it was typed.
  expect(Object.keys(default_headers)).toEqual(["12", "b", "bc"]);
});

/** UI-10: the server says what is wrong with an argument, and in words. */
test("a sample asked for with no number says so in words", async ({ page }) => {
  const id = mark("sample");
  await makeTool(id, [{ name: "n", position: "query", parameter_type: "Integer", required: true }]);
  await page.goto(`${url()}/ui/services/api/${id}/tools/get`);
  await page.getByRole("button", { name: "Fetch a sample" }).click();
  const dialog = page.getByRole("dialog", { name: "Fetch a sample" });
  await dialog.getByRole("textbox", { name: "n" }).fill("seven");
  const [sent] = await Promise.all([
    page.waitForRequest((request) => request.url().includes("/api/v1/call")),
    dialog.getByRole("button", { name: "Run" }).click(),
  ]);
  expect(sent.postDataJSON().arguments).toEqual({ n: "seven" });
  await expect(page.getByText("Unexpected token")).toHaveCount(0);
});

/** UI-8 and UI-9: what a save has left out is said where it was saved. */
test("secrets that a save dropped are named", async ({ page }) => {
  const id = mark("dropped");
  const config = { url: "http://127.0.0.1:9/mcp", headers: { "X-Team": "t0ken" } };
  await rest("POST", "/services", { type: "mcp", id, config });
  await page.goto(`${url()}/ui/services/mcp/${id}?tab=settings`);
  await page.getByRole("textbox", { name: "URL", exact: true }).fill("http://127.0.0.2:9/mcp");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("status", { name: "Saved" })).toBeVisible();
  await expect(page.getByRole("alert").filter({ hasText: "config.headers.X-Team" })).toBeVisible();
});

test("warnings of a save are shown, also of a service that is new", async ({ page }) => {
  const id = mark("warned");
  const tools = ["api://nowhere-at-all/*"];
  const config = { provider: "openai", base_url: "http://127.0.0.1:9/v1", api_key: "k", model: "m", tools };
  await rest("POST", "/services", { type: "agent", id, config });
  await page.goto(`${url()}/ui/services/agent/${id}?tab=settings`);
  await page.getByRole("textbox", { name: "Description" }).first().fill("changed");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("status", { name: "Saved" })).toBeVisible();
  await expect(page.getByRole("main")).toContainText("nowhere-at-all/*'");
  await rest("DELETE", `/services/agent/${id}?force=true`);
});
