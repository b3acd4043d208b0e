// Single things of single pages, each as somebody would do it.
import { expect, rest, signIn, test, url } from "./base";
import { upstream } from "./upstream";

test.beforeEach(({ page }) => signIn(page));

const mark = (name: string) => `${name}${Date.now()}`;

async function makeFlow(id: string, source: string): Promise<void> {
  await rest("POST", "/flows", { id, source });
  await rest("POST", `/flows/${id}/publish`, {});
}

/** The inbox of the contract: what is to be filled in is a form, and goes along with the decision. */
test("an approval asks for its fields and sends them", async ({ page }) => {
  const id = mark("asks");
  const fields = "{type: object, required: [reason], properties: {reason: {type: string, title: Reason}}}";
  await makeFlow(
    id,
    `nodes:\n  ok: {approval: {title: "Ship ${id}?", fields: ${fields}}}\noutput: "\${ok.data.reason}"\n`,
  );
  const run = await rest<{ id: string }>("POST", `/flows/${id}/runs`, { inputs: {} });
  await page.goto(`${url()}/ui/approvals`);
  const row = page.getByRole("row").filter({ hasText: `Ship ${id}?` });
  await row.getByRole("button", { name: "Approve" }).click();
  await expect(row.getByRole("textbox", { name: "Reason" })).toHaveAttribute("aria-invalid", "true");
  await row.getByRole("textbox", { name: "Reason" }).fill("it is paid");
  await row.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByRole("status", { name: "Approved" })).toBeVisible();
  await page.goto(`${url()}/ui/runs/${run.id}`);
  await expect(page.getByRole("region", { name: "Output" })).toContainText("it is paid");
});

test.describe("what is deleted", () => {
  // It may be asked for once more before its page is left.
  test.use({ isMissing: true });

  test("a flow is switched off, shows its triggers, and is deleted", async ({ page }) => {
    const id = mark("life");
    await makeFlow(
      id,
      'name: Short life\nnodes: {a: {with: 1}}\ntriggers:\n  - {name: nightly, type: schedule, cron: "0 3 * * *"}\n',
    );
    await page.goto(`${url()}/ui/flows/${id}?tab=triggers`);
    const nightly = page.getByRole("table", { name: "Triggers" }).getByRole("switch", { name: "nightly starts runs" });
    await nightly.click();
    await expect(nightly).not.toBeChecked();
    await page.getByRole("switch", { name: "Enabled" }).click();
    await expect.poll(async () => (await rest<{ enabled: boolean }>("GET", `/flows/${id}`)).enabled).toBe(false);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await expect(page.getByRole("heading", { level: 1, name: "Flows" })).toBeVisible();
    await expect(rest("GET", `/flows/${id}`)).rejects.toThrow("404");
  });
});

test("a key is given scopes and limits, and changed later", async ({ page }) => {
  const name = mark("key");
  await page.goto(`${url()}/ui/people?tab=keys`);
  await page.getByRole("button", { name: "Add key" }).click();
  const dialog = page.getByRole("dialog", { name: "Add key" });
  await dialog.getByRole("textbox", { name: "Name" }).fill(name);
  await dialog.getByRole("checkbox", { name: "read" }).check();
  await dialog.getByRole("checkbox", { name: "call" }).check();
  await dialog.getByRole("spinbutton", { name: "Calls at once" }).fill("3");
  await dialog.getByRole("spinbutton", { name: "Calls at once" }).press("Control+Enter");
  await page.getByRole("dialog", { name: "Key", exact: true }).getByRole("button", { name: "Close" }).click();
  type Key = { name: string; scopes: string[]; limits: object };
  const kept = async () =>
    (await rest<{ items: Key[] }>("GET", "/keys?limit=1000")).items.find((key) => key.name === name);
  expect(await kept()).toMatchObject({ scopes: ["read", "call"], limits: { concurrent_calls: 3 } });
  await page.getByRole("searchbox", { name: "Filter keys" }).fill(name);
  await page.getByRole("button", { name: `Edit ${name}` }).click();
  await page.getByRole("checkbox", { name: "call" }).uncheck();
  await page.getByRole("spinbutton", { name: "Calls per minute" }).fill("7");
  await page.getByRole("button", { name: "Save" }).click();
  const limits = { concurrent_calls: 3, calls_per_minute: 7 };
  await expect.poll(kept).toMatchObject({ scopes: ["read"], limits });
});

test("a call that was stopped says so", async ({ page }) => {
  const silent = await upstream(() => {});
  const id = mark("silent");
  const config = { base_url: silent.url, retry: { max_attempts: 1 } };
  await rest("POST", "/services", { type: "api", id, config, tools: [{ id: "get", endpoint: "/x" }] });
  await page.goto(`${url()}/ui/try?uri=api://${id}/get`);
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText("Stopped", { exact: true })).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
  silent.stop();
});

/** UI-16: however large a table is, a page of it is asked for. */
test("the grid of a large table comes page by page", async ({ page }) => {
  const orders = Array.from({ length: 2500 }, (_, at) => ({ id: `o${at}`, note: "x".repeat(200) }));
  const table = await rest<{ id: string }>("POST", "/tables", { name: mark("large"), data: { orders } });
  const sizes: number[] = [];
  page.on("response", async (response) => {
    const isTable = response.url().includes("/tables/") || response.url().includes("/jmespath");
    if (isTable) sizes.push((await response.body().catch(() => Buffer.alloc(0))).length);
  });
  await page.goto(`${url()}/ui/tables/${table.id}`);
  await page.getByRole("treeitem", { name: "orders" }).getByText("orders").click();
  await page.getByRole("tab", { name: "Grid" }).click();
  const rows = page.getByRole("table", { name: "Rows" });
  await expect(rows.getByRole("cell", { name: "o0", exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Next" }).click();
  await expect(page.getByText("Page 2 of 25")).toBeVisible();
  await expect(rows.getByRole("cell", { name: "o100", exact: true })).toBeVisible();
  expect(Math.max(...sizes)).toBeLessThan(100_000);
});

/** Fields of an object are rows as well, whatever they are called. */
test("the grid shows the fields of an object", async ({ page }) => {
  const data = { 'a "quoted" name': { city: "Bern" }, "b.c": { city: "Basel" }, 数: 3 };
  const table = await rest<{ id: string }>("POST", "/tables", { name: mark("fields"), data });
  await page.goto(`${url()}/ui/tables/${table.id}?tab=grid`);
  const rows = page.getByRole("table", { name: "Rows" }).getByRole("row");
  await expect(rows.filter({ hasText: 'a "quoted" name' })).toContainText("Bern");
  await expect(rows.filter({ hasText: "b.c" })).toContainText("Basel");
  await expect(rows.filter({ hasText: "数" })).toContainText("3");
});

/** J4's "Run again" calls what was called: a Tool under its own name, with its own arguments. */
test("a failed Tool is run again as itself", async ({ page }) => {
  const id = mark("again");
  const parameters = [{ name: "order", position: "query", required: true }];
  const config = { base_url: "http://127.0.0.1:9", retry: { max_attempts: 1 } };
  await rest("POST", "/services", { type: "api", id, config, tools: [{ id: "get", endpoint: "/x", parameters }] });
  await rest("POST", "/tools", {
    name: `${id}_tool`,
    type: "uri",
    uri: `api://${id}/get`,
    rename: { number: "order" },
  });
  await rest("POST", "/call", { uri: `tool://${id}_tool/call`, arguments: { number: "o7" } });
  await page.goto(url());
  const failures = page.getByRole("list", { name: "Recent failures" });
  await failures
    .getByRole("link", { name: `${id}_tool` })
    .first()
    .click();
  await page.getByRole("link", { name: "Run again" }).click();
  await expect(page.getByRole("combobox", { name: "Tool" })).toHaveValue(`${id}_tool`);
  await expect(page.getByRole("textbox", { name: "Number" })).toHaveValue("o7");
});

test("a request is found by whatever id its client gave it", async ({ page }) => {
  const given = mark("order-");
  const headers = { Authorization: "Bearer e2e-admin-key-e2e-admin-key-e2e-admin-key", "X-Request-Id": given };
  const body = JSON.stringify({ uri: "api://nowhere/nothing", arguments: {} });
  await fetch(`${process.env.E2E_API}/api/v1/call`, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body,
  });
  await page.goto(url());
  await expect(page.getByRole("heading", { level: 1, name: "Home" })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.keyboard.type(given);
  await page.getByRole("option", { name: new RegExp(given) }).click();
  await expect(
    page.getByRole("textbox", { name: "Request id" }).or(page.getByRole("searchbox", { name: "Request id" })),
  ).toHaveValue(given);
});

/** UI-10: what a template makes of a sample is on the page as it is typed; the parameter's meaning and default are kept. */
test("an HTTP tool shows what its template makes, and keeps what parameters mean", async ({ page }) => {
  const name = mark("http");
  await page.goto(`${url()}/ui/tools/new`);
  await page.getByRole("textbox", { name: "Name", exact: true }).first().fill(name);
  await page.getByRole("textbox", { name: "Endpoint" }).fill("http://127.0.0.1:9/orders");
  await page.getByRole("button", { name: "Add parameter" }).click();
  await page.getByRole("table", { name: "Parameters" }).getByRole("textbox", { name: "Name" }).fill("city");
  await page.getByRole("button", { name: "Details of city" }).click();
  const details = page.getByRole("dialog", { name: "Details of city" });
  await details.getByRole("textbox", { name: "Description" }).fill("where it is sent to");
  await details.getByRole("textbox", { name: "Default" }).fill("Bern");
  await page.keyboard.press("Control+Enter");
  // The dialog ends, and the form around it is not sent by that.
  await expect(details).toBeHidden();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await page.getByRole("textbox", { name: "Response template" }).click();
  await page.keyboard.insertText("state: {{.status}}");
  await expect(page.getByRole("region", { name: "Rendered" })).toContainText("state: ok");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
  type Tool = { name: string; config: { HTTP: { parameters: object[] } } };
  const id = page.url().split("/").pop()?.split("?")[0];
  const saved = await rest<Tool>("GET", `/tools/${id}`);
  expect(saved.config.HTTP.parameters[0]).toMatchObject({ description: "where it is sent to", default_value: "Bern" });
});

/** UI-10: the sample is a real answer, also of a tool that is being written; then it is saved, for testing. */
test("a new HTTP tool fetches its sample and shows what its template makes of it", async ({ page }) => {
  const shop = await upstream((request, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ asked: request.url }));
  });
  const name = mark("sampled");
  await page.goto(`${url()}/ui/tools/new`);
  await page.getByRole("textbox", { name: "Endpoint" }).fill(`${shop.url}/orders`);
  const fetchIt = async () => {
    await page.getByRole("button", { name: "Fetch a sample" }).click();
    await page.getByRole("dialog", { name: "Fetch a sample" }).getByRole("button", { name: "Run" }).click();
  };
  await fetchIt();
  await expect(page.getByRole("textbox", { name: "Name" })).toHaveAttribute("aria-invalid", "true");
  await page.getByRole("textbox", { name: "Name" }).fill(name);
  await fetchIt();
  await expect(page.getByRole("textbox", { name: "Sample answer" })).toContainText("/orders");
  await page.getByRole("textbox", { name: "Response template" }).click();
  await page.keyboard.insertText("asked {{.asked}}");
  await expect(page.getByRole("region", { name: "Rendered" })).toContainText("asked /orders");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
  const id = page.url().split("/").pop()?.split("?")[0];
  const saved = await rest<{ status: string; name: string }>("GET", `/tools/${id}`);
  expect(saved).toMatchObject({ status: "active", name });
  shop.stop();
});

/** UI-9: many problems at once, each at its own field; what is folded away is opened for them. */
test("many problems stand at many fields", async ({ page }) => {
  await page.goto(`${url()}/ui/services/new`);
  await page.getByRole("radio", { name: "HTTP API" }).check();
  const field = (name: string) => page.getByRole("textbox", { name, exact: true }).first();
  await field("Id").fill("no good id");
  await field("Name").fill("x".repeat(200));
  await field("Base URL").fill("nowhere");
  await field("Time limit (ms)").fill("soon");
  // Groups in it may have an "Advanced" of their own; the form's stands first.
  const advanced = page.getByText("Advanced", { exact: true }).first();
  await advanced.click();
  const retries = page.getByRole("group", { name: "Retries", exact: true }).getByRole("textbox").first();
  await retries.fill("often");
  await advanced.click();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("alert", { name: "5 problems" })).toBeVisible();
  for (const one of [field("Id"), field("Name"), field("Base URL"), field("Time limit (ms)"), retries]) {
    await expect(one).toHaveAttribute("aria-invalid", "true");
    await expect(one).toBeVisible();
    await expect(one).toHaveAccessibleDescription(/must|no URL/);
  }
});

/** UI-9: editors of JSON say so as well. */
test("problems of a Tool's JSON stand at its editors", async ({ page }) => {
  await page.goto(`${url()}/ui/tools/new?type=uri`);
  for (const name of ["Fixed arguments", "Hidden arguments", "Renamed arguments"]) {
    await page.getByRole("textbox", { name }).focus();
    await page.keyboard.insertText("3");
  }
  await page.getByRole("button", { name: "Save" }).click();
  for (const name of ["Fixed arguments", "Hidden arguments", "Renamed arguments"]) {
    await expect(page.getByRole("textbox", { name })).toHaveAttribute("aria-invalid", "true");
  }
});

/** UI-9: dialogs are no exception, and Ctrl Enter sends them. */
test("a door without a name is refused at its field", async ({ page }) => {
  await page.goto(`${url()}/ui/doors`);
  await page.getByRole("button", { name: "Add door" }).first().click();
  await page.getByRole("textbox", { name: "Name" }).fill("x".repeat(200));
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("textbox", { name: "Name" })).toHaveAttribute("aria-invalid", "true");
});

/** A list that is paused stays, whatever else happens; new filters are asked for all the same. */
test("a paused list of calls does not move", async ({ page }) => {
  const id = mark("paused");
  const config = { base_url: "http://127.0.0.1:9", retry: { max_attempts: 1 } };
  await rest("POST", "/services", { type: "api", id, config, tools: [{ id: "get", endpoint: "/x" }] });
  const call = () => rest("POST", "/call", { uri: `api://${id}/get`, arguments: {} });
  await call();
  await page.goto(`${url()}/ui/calls?service=${id}`);
  const rows = page.getByRole("table", { name: "Calls" }).getByRole("row");
  await expect(rows).toHaveCount(2);
  await expect(page.getByRole("status", { name: "Live" })).toBeVisible();
  await page.getByRole("button", { name: "Pause" }).click();
  await call();
  const told = page.waitForResponse((response) => response.url().includes("/api/v1/auth/me")).catch(() => undefined);
  await rest("POST", `/services/api/${id}/disable`);
  await rest("POST", `/services/api/${id}/enable`);
  // Everything else on the page is asked for anew; the list has had its chance by then.
  await Promise.race([told, page.waitForTimeout(2000)]);
  await expect(rows).toHaveCount(2);
  await page.getByRole("searchbox", { name: "Code" }).fill("UNAVAILABLE");
  await expect(rows).toHaveCount(3);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("searchbox", { name: "Code" }).fill("");
  await expect(rows).toHaveCount(3);
});

/** A table of a window has nothing of its last minute alone. */
test("the table of metrics says what its percentiles are of", async ({ page }) => {
  await page.goto(`${url()}/ui/metrics`);
  await page.getByRole("button", { name: "Show as table" }).click();
  await expect(page.getByRole("columnheader", { name: "p95 ms, slowest step" })).toBeVisible();
});

/** UI-7, UI-8 and UI-10: how a Tool of one's own signs in is typed where nobody reads it, and kept nowhere. */
test("an HTTP tool of one's own signs in, and keeps its secret to itself", async ({ page }) => {
  const asked: string[] = [];
  const shop = await upstream((request, response) => {
    asked.push(request.headers.authorization ?? "");
    response.end("{}");
  });
  const name = mark("signs_in");
  await page.goto(`${url()}/ui/tools/new`);
  await page.getByRole("textbox", { name: "Name", exact: true }).first().fill(name);
  await page.getByRole("textbox", { name: "Endpoint" }).fill(`${shop.url}/orders`);
  await page.getByRole("combobox", { name: "Sign-in", exact: true }).selectOption("bearer");
  const token = page.getByRole("textbox", { name: "Token", exact: true });
  await expect(token).toHaveAttribute("type", "password");
  await token.fill("s3cr3t-of-a-tool");
  // Away and back: what was typed is there, and the secret is not.
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Doors" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Doors" })).toBeVisible();
  await page.goBack();
  await expect(page.getByRole("textbox", { name: "Endpoint" })).toHaveValue(`${shop.url}/orders`);
  await expect(token).toHaveValue("");
  await token.fill("s3cr3t-of-a-tool");
  for (const more of await page.getByText("Advanced", { exact: true }).all()) await more.click();
  await page.getByRole("textbox", { name: "Time limit (s)" }).fill("7");
  await page.getByRole("textbox", { name: "Private network" }).focus();
  await page.keyboard.insertText("true");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
  await expect(page.getByRole("button", { name: "Replace" })).toBeVisible();
  const id = page.url().split("/").pop()?.split("?")[0];
  const { config } = await rest<{ config: { HTTP: object } }>("GET", `/tools/${id}`);
  expect(config.HTTP).toMatchObject({ auth_type: "bearer", auth_config: { token: "***" }, timeout_seconds: 7 });
  await rest("POST", "/call", { uri: `tool://${name}/call`, arguments: {} });
  expect(asked).toEqual(["Bearer s3cr3t-of-a-tool"]);
  shop.stop();
});
