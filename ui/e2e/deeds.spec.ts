// What is done to doors, people, tenants, triggers and runs, each as somebody would do it.
import { expect, rest, signIn, test, url } from "./base";

type Made = { id: string };
const mark = (name: string) => `${name}${Date.now()}`;

test.beforeEach(({ page }) => signIn(page));

test("a door is renamed, described and switched off", async ({ page }) => {
  const name = mark("door");
  const { id } = await rest<Made>("POST", "/mcp", { name });
  await page.goto(`${url()}/ui/doors/${id}`);
  await page.getByRole("button", { name: "Edit" }).click();
  const dialog = page.getByRole("dialog", { name: `Edit ${name}` });
  await dialog.getByRole("textbox", { name: "Name" }).fill("x".repeat(200));
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog.getByRole("textbox", { name: "Name" })).toHaveAttribute("aria-invalid", "true");
  await dialog.getByRole("textbox", { name: "Name" }).fill(`${name} renamed`);
  await dialog.getByRole("textbox", { name: "Description" }).fill("for the shop");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("heading", { level: 1, name: `${name} renamed` })).toBeVisible();
  await expect(page.getByRole("main")).toContainText("for the shop");
  await page.getByRole("switch", { name: "Enabled" }).click();
  await expect
    .poll(() => rest("GET", `/mcp/id/${id}`))
    .toMatchObject({ status: "disabled", description: "for the shop" });
});

test("a user is given another role, unit and password", async ({ page, browser }) => {
  const username = mark("user");
  const password = "first-password-of-somebody";
  const body = { username, display_name: "Somebody", password, role: "caller" };
  const { id } = await rest<Made>("POST", "/users", body);
  await page.goto(`${url()}/ui/people?tab=users&q=${username}`);
  await page.getByRole("button", { name: `Edit ${username}` }).click();
  const dialog = page.getByRole("dialog", { name: `Edit ${username}` });
  await dialog.getByRole("textbox", { name: "Unit" }).fill("shop-7");
  await dialog.getByRole("combobox", { name: "Role" }).selectOption("viewer");
  const next = "second-password-of-somebody";
  await dialog.getByRole("textbox", { name: "New password" }).fill(next);
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("status", { name: "Saved" })).toBeVisible();
  expect(await rest("GET", `/users/${id}`)).toMatchObject({ role: "viewer", bu_code: "shop-7" });
  // And by that person themselves.
  const own = await (await browser.newContext()).newPage();
  const data = { tenant: "default", username, password: next };
  const headers = { "Sec-Fetch-Site": "same-origin", Origin: url() };
  expect((await own.request.post(`${url()}/api/v1/auth/session`, { data, headers })).ok()).toBe(true);
  await own.goto(`${url()}/ui/settings?tab=preferences`);
  await own.getByRole("textbox", { name: "Old password" }).fill("not that one");
  await own.getByRole("textbox", { name: "New password" }).fill("third-password-of-somebody");
  await own.getByRole("button", { name: "Change password" }).click();
  await expect(own.getByRole("alert").first()).toBeVisible();
  await own.getByRole("textbox", { name: "Old password" }).fill(next);
  await own.getByRole("button", { name: "Change password" }).click();
  await expect
    .poll(async () => {
      const again = { data: { ...data, password: "third-password-of-somebody" }, headers };
      return (await page.request.post(`${url()}/api/v1/auth/login`, again)).status();
    })
    .toBe(200);
  await own.context().close();
});

test("a tenant is given limits, room and a network", async ({ page }) => {
  const id = mark("tenant");
  await rest("POST", "/tenants", { id, name: id });
  await page.goto(`${url()}/ui/people?tab=tenants&q=${id}`);
  await page.getByRole("button", { name: `Edit ${id}` }).click();
  const dialog = page.getByRole("dialog", { name: `Edit ${id}` });
  await dialog.getByRole("spinbutton", { name: "Room for tables (bytes)" }).fill("5000000");
  await dialog.getByRole("spinbutton", { name: "Calls per minute" }).fill("60");
  await dialog.getByRole("combobox", { name: "Private network" }).selectOption({ label: "Never" });
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("status", { name: "Saved" })).toBeVisible();
  const limits = { calls_per_minute: 60 };
  const changed = { table_quota_bytes: 5_000_000, limits, allow_private_network: false };
  expect(await rest("GET", `/tenants/${id}`)).toMatchObject(changed);
  await rest("DELETE", `/tenants/${id}`);
});

test("the record of changes says who changed what", async ({ page }) => {
  const name = mark("recorded");
  const { id } = await rest<Made>("POST", "/mcp", { name });
  await page.goto(`${url()}/ui/calls`);
  await page.getByRole("combobox", { name: "Records" }).selectOption({ label: "Changes" });
  const rows = page.getByRole("table", { name: "Calls" }).getByRole("row");
  await expect(rows.filter({ hasText: /POST .*mcp/ }).first()).toBeVisible();
  await rows
    .filter({ hasText: /POST .*mcp/ })
    .first()
    .getByRole("link")
    .first()
    .click();
  await expect(page.getByRole("region", { name: "Arguments" })).toContainText(name);
  await rest("DELETE", `/mcp/id/${id}`);
});

test("a trigger is fired, and its secret is shown once", async ({ page }) => {
  const id = mark("hook");
  const source = `nodes: {a: {with: "\${trigger.body.n}"}}\noutput: "\${a}"\ntriggers:\n  - {name: hook, type: webhook}\n`;
  await rest("POST", "/flows", { id, source });
  await rest("POST", `/flows/${id}/publish`, {});
  await page.goto(`${url()}/ui/flows/${id}?tab=triggers`);
  await page.getByRole("button", { name: "New secret" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "New secret" }).click();
  const shown = page.getByRole("dialog", { name: "Secret" });
  await expect(shown.getByRole("textbox", { name: "Secret" })).toHaveValue(/\S{16}/);
  await shown.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Fire hook" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Event" }).focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText('{"body": {"n": 7}}');
  await page.getByRole("dialog").getByRole("button", { name: "Fire" }).click();
  await expect(page.getByRole("region", { name: "Output" })).toContainText("7");
});

test("a run is told a signal, and run once more", async ({ page }) => {
  const id = mark("signal");
  const source = `nodes:\n  a: {wait: {signal: paid}}\noutput: "\${a.sum}"\n`;
  await rest("POST", "/flows", { id, source });
  const run = await rest<Made>("POST", `/flows/${id}/runs`, { version: "draft", inputs: {} });
  await page.goto(`${url()}/ui/runs/${run.id}`);
  await page.getByRole("button", { name: "Send a signal" }).click();
  const dialog = page.getByRole("dialog", { name: "Send a signal" });
  await dialog.getByRole("textbox", { name: "Signal" }).fill("paid");
  await dialog.getByRole("textbox", { name: "Data" }).focus();
  await page.keyboard.insertText('{"sum": 12}');
  await dialog.getByRole("button", { name: "Run" }).click();
  await expect(page.getByRole("region", { name: "Output" })).toContainText("12");
  await page.getByRole("button", { name: "Run once more" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Run" }).click();
  await expect(page).not.toHaveURL(new RegExp(run.id));
  await expect(page.getByRole("button", { name: "Send a signal" })).toBeVisible();
});

/** UI-4: from a run to why a step of it failed. */
test("a failed step of a run leads to its call", async ({ page }) => {
  const id = mark("step");
  const config = { base_url: "http://127.0.0.1:9", retry: { max_attempts: 1 } };
  await rest("POST", "/services", { type: "api", id, config, tools: [{ id: "get", endpoint: "/x" }] });
  await rest("POST", "/flows", { id, source: `nodes: {a: {exec: "api://${id}/get"}}\n` });
  const run = await rest<Made>("POST", `/flows/${id}/runs`, { version: "draft", inputs: {}, wait_seconds: 20 });
  await page.goto(`${url()}/ui/runs/${run.id}`);
  await page.getByRole("table", { name: "Steps" }).getByRole("link", { name: "Open the inspector" }).click();
  await expect(page.getByRole("region", { name: "Cause" })).toContainText("UNAVAILABLE");
  // What was sent is shown, and that nothing came back is said.
  await expect(page.getByRole("region", { name: "Request" })).toContainText("127.0.0.1:9");
  await expect(page.getByRole("region", { name: "Raw answer" })).toContainText("No answer came");
  await expect(page.getByRole("main").getByText(/nobody listens/)).toHaveCount(1);
});
