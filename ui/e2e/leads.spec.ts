// Nothing that is shown leads to a dead end, and what went wrong stands where it was typed.
import { expect, rest, signIn, test, url } from "./base";

type Made = { id: string };
const mark = `leads${Date.now()}`;

test.beforeAll(async () => {
  const config = { base_url: "http://127.0.0.1:9", retry: { max_attempts: 1 } };
  await rest("POST", "/services", { type: "api", id: mark, config, tools: [{ id: "get", endpoint: "/x" }] });
});

/** UI-18: whoever may call a tool that is not theirs finds it, and can try it. */
test("a caller's list of tools leads to places to try them", async ({ page }) => {
  const table = await rest<Made>("POST", "/tables", { name: mark, data: { orders: [{ id: "o1" }] } });
  const query = { name: `query_${mark}`, type: "query_data", table_id: table.id, json_path: "/orders" };
  await rest<Made>("POST", "/tools", query);
  const { key } = await rest<{ key: string }>("POST", "/keys", { name: mark, role: "caller" });
  await signIn(page, key);
  await page.goto(`${url()}/ui/tools?q=${query.name}`);
  await page.getByRole("link", { name: query.name, exact: true }).click();
  await expect(page.getByRole("heading", { level: 1, name: query.name })).toBeVisible();
  await page.getByRole("textbox", { name: "Query" }).fill("[*].id");
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByRole("region", { name: "Answer", exact: true })).toContainText("o1");
});

test("the server's own tools and those of agents have pages as well", async ({ page }) => {
  const model = { provider: "openai", base_url: "http://127.0.0.1:9/v1", api_key: "k", model: "m" };
  await rest("POST", "/services", { type: "agent", id: `${mark}-agent`, config: model });
  await rest("POST", "/flows", { id: mark, source: "nodes: {a: {with: 1}}\n" });
  await rest("POST", `/flows/${mark}/publish`, {});
  await signIn(page);
  for (const [name, field] of [
    [`${mark}-agent__ask`, "Message"],
    ["flow_run", "Run ID"],
  ] as const) {
    await page.goto(`${url()}/ui/tools?q=${name}`);
    await page.getByRole("link", { name, exact: true }).click();
    await expect(page.getByRole("textbox", { name: field, exact: true })).toBeVisible();
  }
  await rest("DELETE", `/services/agent/${mark}-agent?force=true`);
});

/** UI-4: a call that was refused before it led anywhere says where to go on. */
test("a call of a service that is switched off leads to the service", async ({ page }) => {
  await rest("POST", `/services/api/${mark}/disable`);
  await rest("POST", "/call", { uri: `api://${mark}/get` }).catch(() => undefined);
  await signIn(page);
  let id = "";
  await expect(async () => {
    const { items } = await rest<{ items: (Made & { tool: string })[] }>("GET", "/audit?code=SERVICE_DISABLED");
    id = items.find(({ tool }) => tool.includes(mark))?.id ?? "";
    expect(id).not.toBe("");
  }).toPass();
  await page.goto(`${url()}/ui/calls/${id}`);
  await expect(page.getByRole("link", { name: "Run again" })).toBeVisible();
  await page.getByRole("link", { name: "Open service" }).click();
  await expect(page.getByRole("switch", { name: "Enabled" })).toBeVisible();
  await rest("POST", `/services/api/${mark}/enable`);
});

/** UI-9 */
test("what is wrong with a document stands at its field", async ({ page }) => {
  await signIn(page);
  await page.goto(`${url()}/ui/services/new`);
  await page.getByRole("radio", { name: "HTTP API" }).check();
  await page.getByRole("tab", { name: "OpenAPI" }).click();
  const field = page.getByRole("textbox", { name: "Address or document" });
  await field.fill("not a doc");
  await page.getByRole("button", { name: "Preview" }).click();
  await expect(page.getByRole("alert", { name: "1 problem" })).toBeVisible();
  await expect(field).toHaveAttribute("aria-invalid", "true");
  await expect(field).toHaveAccessibleDescription(/no object/);
});

/** UI-9: all that is wrong with a field. */
test("a field says everything that is wrong with it", async ({ page }) => {
  await signIn(page);
  await page.goto(`${url()}/ui/tools/new`);
  await page.getByRole("textbox", { name: "Name", exact: true }).fill(`wrong_${mark}`);
  const endpoint = page.getByRole("textbox", { name: "Endpoint" });
  await endpoint.fill("ftp://x/{a}/{b}");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("alert", { name: "3 problems" })).toBeVisible();
  for (const said of [/neither http nor https/, /placeholder \{a\}/, /placeholder \{b\}/]) {
    await expect(endpoint).toHaveAccessibleDescription(said);
  }
});

/** UI-18: by its address a page is no more than by a link. */
test("a page for others says so, and managers leave admins alone", async ({ page, context }) => {
  const made = (role: string) => rest<{ key: string }>("POST", "/keys", { name: `${role} of ${mark}`, role });
  const { key: viewer } = await made("viewer");
  const { key: manager } = await made("manager");
  await made("admin");
  await signIn(page, viewer);
  for (const path of ["/ui/tools/new", "/ui/services/new", "/ui/people"]) {
    await page.goto(url() + path);
    await expect(page.getByRole("heading", { level: 1, name: "This is not for you" })).toBeVisible();
    await expect(page.getByRole("button", { name: /Save|Add|Fetch/ })).toHaveCount(0);
  }
  await context.clearCookies();
  await signIn(page, manager);
  await page.goto(`${url()}/ui/people?q=of ${mark}`);
  const row = (role: string) => page.getByRole("row").filter({ hasText: `${role} of ${mark}` });
  await expect(row("viewer").getByRole("button", { name: "Edit" })).toBeVisible();
  await expect(row("admin").getByRole("button")).toHaveCount(0);
  await expect(row("admin").getByRole("switch")).toHaveCount(0);
});

/** UI-18: whoever looks after all tenants changes what they look at. */
test("an admin makes a tool for another tenant", async ({ page }) => {
  await rest("POST", "/tenants", { id: mark, name: mark });
  await signIn(page);
  await page.goto(`${url()}/ui/tools`);
  await page.getByRole("combobox", { name: "Tenant" }).selectOption({ label: mark });
  await page.getByRole("link", { name: "Add tool" }).first().click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("theirs");
  await page.getByRole("textbox", { name: "Endpoint" }).fill("https://example.com/x");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "theirs" })).toBeVisible();
  const { items } = await rest<{ items: { name: string }[] }>("GET", `/tools?tenant_id=${mark}`);
  expect(items.map(({ name }) => name)).toEqual(["theirs"]);
});

/** UI-4: flows are called like services, and have pages of their own. */
test("a failed call of a flow leads to the flow, from everywhere", async ({ page }) => {
  const id = `${mark}-failing`;
  await rest("POST", "/flows", { id, source: `nodes: {a: {exec: "api://${mark}/get"}}\n` });
  await rest("POST", `/flows/${id}/publish`, {});
  // The live graph shows the busiest.
  for (let n = 0; n < 12; n++) {
    await rest("POST", "/call", { uri: `flow://${id}`, arguments: {} }).catch(() => undefined);
  }
  let call = "";
  await expect(async () => {
    const { items } = await rest<{ items: (Made & { uri?: string })[] }>("GET", "/audit?limit=50");
    call = items.find(({ uri }) => uri?.startsWith(`flow://${id}`))?.id ?? "";
    expect(call).not.toBe("");
  }).toPass();
  await signIn(page);
  await page.goto(`${url()}/ui/calls/${call}`);
  await page.getByRole("link", { name: "Open flow" }).click();
  await expect(page).toHaveURL(new RegExp(`/ui/flows/${id}$`));
  await page.goto(url());
  const graph = page.getByRole("region", { name: "Live graph" });
  const boxes = graph.getByRole("link").filter({ hasText: id.slice(0, 10) });
  await expect(boxes.first()).toBeVisible();
  const leads = await boxes.evaluateAll((all) => all.map((one) => one.getAttribute("href")));
  expect(leads).toContain(`/ui/flows/${id}`);
  expect(leads.filter((to) => to?.startsWith("/ui/services/flow"))).toEqual([]);
});

/** A filter that nothing fits says so, and not that there is nothing. */
test("filters that fit nothing say that nothing was found", async ({ page }) => {
  await signIn(page);
  await page.goto(`${url()}/ui/tools?kind=api&status=inactive`);
  await expect(page.getByText("Nothing found", { exact: true })).toBeVisible();
  await expect(page.getByRole("heading", { name: "No tools yet" })).toHaveCount(0);
  await page.goto(`${url()}/ui/calls?tool=nobody-has-ever-called-this`);
  await expect(page.getByRole("heading", { name: "Nothing found" })).toBeVisible();
});
