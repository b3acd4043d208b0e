// UI-20: what somebody typed, and what somebody else saved meanwhile, are both still there afterwards.
import type { Page } from "@playwright/test";
import { ADMIN, expect, rest, signIn, test, url } from "./base";

test.beforeEach(({ page }) => signIn(page));

const mark = () => `draft${Date.now()}`;

async function makeFlow(): Promise<string> {
  const id = mark();
  await rest("POST", "/flows", { id, source: "name: Kept\nnodes: {a: {with: 1}} # first\n" });
  return id;
}

async function openYaml(page: Page, id: string): Promise<void> {
  await page.goto(`${url()}/ui/flows/${id}?tab=yaml`);
  await expect(page.getByRole("textbox", { name: "YAML" })).toContainText("# first");
}

async function typeMine(page: Page): Promise<void> {
  await page.getByRole("textbox", { name: "YAML" }).focus();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("# mine");
}

/** Away and back, without loading the console anew. */
async function leaveAndReturn(page: Page, meanwhile: () => Promise<unknown>): Promise<void> {
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Flows" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Flows" })).toBeVisible();
  await meanwhile();
  await page.goBack();
}

/** UI-20: a draft is based on what it was begun with, however long one was away. */
test("a draft that comes back saves over nobody's work", async ({ page }) => {
  const id = await makeFlow();
  await openYaml(page, id);
  await typeMine(page);
  const source = "name: Kept\nnodes: {a: {with: 2}} # theirs\n";
  // The page may have asked for it before, too; what counts is that it has read what is new there.
  const isTheirs = async (text: Promise<string>) => (await text.catch(() => "")).includes("# theirs");
  await Promise.all([
    page.waitForResponse((response) => response.url().endsWith(`/flows/${id}`) && isTheirs(response.text())),
    leaveAndReturn(page, () => rest("PUT", `/flows/${id}/draft`, { source })),
  ]);
  // Now the console knows what is new there; the draft is based on what was there before, all the same.
  await leaveAndReturn(page, async () => undefined);
  await expect(page.getByRole("textbox", { name: "YAML" })).toContainText("# mine");
  await page.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog", { name: "Changed meanwhile" });
  await expect(dialog).toContainText("# theirs");
  expect((await rest<{ source: string }>("GET", `/flows/${id}`)).source).toBe(source);
  await dialog.getByRole("button", { name: "Take theirs" }).click();
  await expect(page.getByRole("textbox", { name: "YAML" })).toContainText("# theirs");
});

/** UI-20: what was not changed here follows what others save. */
test("a flow that was only looked at shows what others made of it", async ({ page }) => {
  const id = await makeFlow();
  await openYaml(page, id);
  const source = "name: Kept\nnodes: {a: {with: 2}} # theirs\n";
  await leaveAndReturn(page, () => rest("PUT", `/flows/${id}/draft`, { source }));
  await expect(page.getByRole("textbox", { name: "YAML" })).toContainText("# theirs");
  await expect(page.getByRole("textbox", { name: "YAML" })).not.toContainText("# first");
});

/** UI-20: whoever types the name of a flow that is there changes nothing of it. */
test("a new flow takes no other flow's place", async ({ page }) => {
  const id = await makeFlow();
  await page.goto(`${url()}/ui/flows/new?tab=yaml`);
  await typeMine(page);
  await page.getByRole("textbox", { name: "Id", exact: true }).fill(id);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("alert").first()).toBeVisible();
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Flows" }).click();
  await page.getByRole("searchbox", { name: "Filter flows" }).fill(id);
  await page.getByRole("link", { name: "Kept" }).first().click();
  await page.getByRole("tab", { name: "YAML" }).click();
  await expect(page.getByRole("textbox", { name: "YAML" })).toContainText("# first");
  await expect(page.getByRole("textbox", { name: "YAML" })).not.toContainText("# mine");
});

/** UI-20: two managers change one Tool. */
test("a conflict of two who change a Tool shows both versions", async ({ page }) => {
  const name = mark();
  const HTTP = { endpoint: "http://127.0.0.1:9/x", method: "GET", parameters: [] };
  const made = await rest<{ id: string }>("POST", "/tools", { name, type: "http", config: { HTTP } });
  await page.goto(`${url()}/ui/tools/${made.id}`);
  await page.getByRole("textbox", { name: "Description" }).fill("mine");
  await rest("PATCH", `/tools/${made.id}`, { description: "theirs" });
  await page.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog", { name: "Changed meanwhile" });
  await expect(dialog).toContainText("theirs");
  expect((await rest<{ description: string }>("GET", `/tools/${made.id}`)).description).toBe("theirs");
  await dialog.getByRole("button", { name: "Keep mine" }).click();
  await expect(page.getByRole("status", { name: "Saved" })).toBeVisible();
  expect((await rest<{ description: string }>("GET", `/tools/${made.id}`)).description).toBe("mine");
});

/** UI-20: two managers change one tool of a service; what is changed of another tool is in nobody's way. */
test("a conflict of two who change a service's tool shows both versions", async ({ page }) => {
  const id = mark();
  const tool = (id: string) => ({ id, endpoint: `/${id}`, method: "GET", parameters: [], description: "first" });
  const config = { base_url: "http://127.0.0.1:9" };
  await rest("POST", "/services", { type: "api", id, config, tools: [tool("one"), tool("two")] });
  const described = (name: string) =>
    rest<{ description: string }>("GET", `/services/api/${id}/tools/${name}`).then((found) => found.description);
  await page.goto(`${url()}/ui/services/api/${id}/tools/one`);
  const field = page.getByRole("textbox", { name: "Description" }).first();
  await field.fill("mine");
  await rest("PATCH", `/services/api/${id}/tools/two`, { description: "another's" });
  await page.getByRole("button", { name: "Save" }).click();
  await expect.poll(() => described("one")).toBe("mine");
  await field.fill("mine again");
  await rest("PATCH", `/services/api/${id}/tools/one`, { description: "theirs" });
  await page.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog", { name: "Changed meanwhile" });
  await expect(dialog).toContainText("theirs");
  expect(await described("one")).toBe("theirs");
  await dialog.getByRole("button", { name: "Keep mine" }).click();
  await expect.poll(() => described("one")).toBe("mine again");
  expect(await described("two")).toBe("another's");
});

/** UI-20: the console itself asks who one is; that nobody is signed in any more is no reason to forget the form. */
test("a form outlives that the console asks who one is", async ({ page, context }) => {
  await page.clock.install();
  await page.goto(`${url()}/ui/services/new`);
  await page.getByRole("radio", { name: "HTTP API" }).check();
  await page.getByRole("textbox", { name: "Base URL" }).fill("https://typed.example");
  await context.clearCookies();
  await page.clock.fastForward("02:00");
  await context.setOffline(true);
  await context.setOffline(false);
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await page.getByRole("textbox", { name: "Key" }).fill(ADMIN);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("textbox", { name: "Base URL" })).toHaveValue("https://typed.example");
});
