// UI-20: what was typed stays, wherever one goes meanwhile; and no secret does.
import type { Page } from "@playwright/test";
import { expect, rest, signIn, test, url } from "./base";

test.beforeEach(({ page }) => signIn(page));

const mark = () => `kept${Date.now()}`;
const HTTP = { endpoint: "http://127.0.0.1:9/x", method: "GET", parameters: [] };
const config = { base_url: "http://127.0.0.1:9" };

async function makeService(): Promise<string> {
  const id = mark();
  await rest("POST", "/services", { type: "api", id, config, tools: [{ id: "get", endpoint: "/x" }] });
  return id;
}

async function awayAndBack(page: Page): Promise<void> {
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Doors" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Doors" })).toBeVisible();
  await page.goBack();
}

/** UI-20: tabs of one object are one place to work in. */
test("what was typed outlives a change of tabs", async ({ page }) => {
  const id = await makeService();
  const tool = await rest<{ id: string }>("POST", "/tools", { name: id, type: "http", config: { HTTP } });
  const places = [
    { path: `/ui/tools/${tool.id}`, from: "Definition", to: "Versions" },
    { path: `/ui/services/api/${id}?tab=settings`, from: "Settings", to: "Overview" },
    { path: `/ui/services/api/${id}/tools/get`, from: "Definition", to: "Try" },
  ];
  for (const { path, from, to } of places) {
    await page.goto(url() + path);
    const field = page.getByRole("textbox", { name: "Description" }).first();
    await field.fill("typed here");
    await page.getByRole("tab", { name: to }).click();
    await expect(field).toHaveCount(0);
    await page.getByRole("tab", { name: from }).click();
    await expect(field, path).toHaveValue("typed here");
  }
});

/** UI-20: a draft knows what it was begun with, and saves over nobody's work when it comes back. */
test("what was typed is based on what was there then", async ({ page }) => {
  const id = await makeService();
  await page.goto(`${url()}/ui/services/api/${id}?tab=settings`);
  await page.getByRole("textbox", { name: "Description" }).fill("mine");
  await rest("PATCH", `/services/api/${id}`, { description: "theirs" });
  await awayAndBack(page);
  await expect(page.getByRole("textbox", { name: "Description" })).toHaveValue("mine");
  await page.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog", { name: "Changed meanwhile" });
  await expect(dialog).toContainText("theirs");
  await dialog.getByRole("button", { name: "Take theirs" }).click();
  await expect(page.getByRole("textbox", { name: "Description" })).toHaveValue("theirs");
});

/** UI-20 and UI-8: a new service is there again after a link and "Back", and its secret is not. */
test("a new service outlives a link, without its secret", async ({ page }) => {
  await page.goto(`${url()}/ui/services/new`);
  await page.getByRole("radio", { name: "HTTP API" }).check();
  await page.getByRole("textbox", { name: "Base URL" }).fill("https://typed.example");
  await page.getByRole("combobox", { name: "Sign-in", exact: true }).selectOption({ label: "bearer" });
  const secret = page.locator('input[type="password"]').first();
  await secret.fill("s3cr3t-typed");
  await awayAndBack(page);
  await expect(page.getByRole("textbox", { name: "Base URL" })).toHaveValue("https://typed.example");
  await expect(secret).toHaveValue("");
});

/** UI-20: arguments that were typed are there again. */
test("arguments outlive a link", async ({ page }) => {
  const id = mark();
  const table = await rest<{ id: string }>("POST", "/tables", { name: id, data: { orders: [] } });
  await rest("POST", "/tools", { name: id, type: "query_data", table_id: table.id, json_path: "/orders" });
  await page.goto(`${url()}/ui/try?uri=tool://${id}/call`);
  await page.getByRole("textbox", { name: "Query" }).fill("[0]");
  await awayAndBack(page);
  await expect(page.getByRole("textbox", { name: "Query" })).toHaveValue("[0]");
});

/** UI-20: whoever loads the page anew is asked where something would be lost, and nowhere else. */
test("closing asks where something is unsaved", async ({ page }) => {
  const id = await makeService();
  const asked: string[] = [];
  page.on("dialog", async (dialog) => {
    asked.push(dialog.type());
    await dialog.accept();
  });
  await page.goto(`${url()}/ui/services/api/${id}?tab=settings`);
  await page.getByRole("textbox", { name: "Description" }).click();
  await page.reload();
  expect(asked).toEqual([]);
  await page.getByRole("textbox", { name: "Description" }).click();
  await page.keyboard.type("typed");
  await page.reload();
  expect(asked).toEqual(["beforeunload"]);
});

/** UI-8: whoever signs in next may be somebody else, so that no secret waits behind the sign-in; not even the second. */
test("being signed out takes typed secrets out of the page", async ({ page, context }) => {
  await page.goto(`${url()}/ui/services/new?type=api`);
  await page.getByRole("combobox", { name: "Sign-in", exact: true }).selectOption({ label: "oauth2" });
  const secrets = page.locator('input[type="password"]');
  await expect(secrets.first()).toBeVisible();
  // What is folded away cannot be typed into.
  for (const field of await secrets.filter({ visible: true }).all()) await field.fill("s3cr3t-typed");
  await page.getByRole("textbox", { name: "Base URL" }).fill("https://typed.example");
  await context.clearCookies();
  await page.getByRole("button", { name: "Test" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  const values = await page
    .locator("input, textarea")
    .evaluateAll((all) => all.map((input) => (input as HTMLInputElement).value));
  expect(values).toContain("https://typed.example");
  expect(values.filter((value) => value.includes("s3cr3t"))).toEqual([]);
});

/** UI-20: a message that never reached the agent is in its field again. */
test("a message outlives a lost connection", async ({ page, context }) => {
  const id = mark();
  const model = { provider: "openai", base_url: "http://127.0.0.1:9/v1", api_key: "sk-none", model: "none" };
  await rest("POST", "/services", { type: "agent", id, config: model });
  await page.goto(`${url()}/ui/agents/${id}`);
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill("a long thought");
  await awayAndBack(page);
  await expect(message).toHaveValue("a long thought");
  await context.setOffline(true);
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("alert", { name: /cannot be reached/ })).toBeVisible();
  await expect(message).toHaveValue("a long thought");
  await context.setOffline(false);
});

/** UI-20: a save takes what was there when it began; what is typed meanwhile is typed. */
test("what is typed during a save stays", async ({ page }) => {
  const id = await makeService();
  await page.goto(`${url()}/ui/services/api/${id}?tab=settings`);
  const field = page.getByRole("textbox", { name: "Description" });
  await field.fill("first");
  let goOn = (): void => undefined;
  const held = new Promise<void>((done) => {
    goOn = done;
  });
  // The real answer, a moment later.
  await page.route(`**/api/v1/services/api/${id}*`, async (route) => {
    if (route.request().method() !== "PATCH") return route.continue();
    const response = await route.fetch();
    await held;
    await route.fulfill({ response });
  });
  await page.getByRole("button", { name: "Save" }).click();
  await field.fill("second");
  goOn();
  await expect(page.getByRole("status", { name: "Saved" })).toBeVisible();
  await expect(field).toHaveValue("second");
  await page.getByRole("button", { name: "Save" }).click();
  const described = () => rest<{ description: string }>("GET", `/services/api/${id}`).then((one) => one.description);
  await expect.poll(described).toBe("second");
});
