// What goes wrong on the way loses nothing that was typed.
import { expect, rest, signIn, test, url } from "./base";

test.beforeEach(({ page }) => signIn(page));

async function makeService(): Promise<string> {
  const id = `fault${Date.now()}`;
  await rest("POST", "/services", { type: "api", id, config: { base_url: "http://127.0.0.1:9" } });
  return id;
}

/** UI-9: every problem of the server is at its field, and in one alert. */
test("problems land on their fields", async ({ page }) => {
  await page.goto(`${url()}/ui/services/new`);
  await page.getByRole("radio", { name: "HTTP API" }).check();
  await page.getByRole("textbox", { name: "Id", exact: true }).fill("no good id");
  await page.getByRole("textbox", { name: "Base URL" }).fill("nowhere");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("alert", { name: "2 problems" })).toBeVisible();
  const address = page.getByRole("textbox", { name: "Base URL" });
  await expect(address).toHaveAttribute("aria-invalid", "true");
  await expect(address).toHaveAccessibleDescription(/no URL/);
});

/** UI-8 and UI-20: signed out in the middle of a form, the draft is there afterwards, and no secret. */
test("a form outlives being signed out", async ({ page, context }) => {
  const id = await makeService();
  await page.goto(`${url()}/ui/services/api/${id}?tab=settings`);
  await page.getByRole("textbox", { name: "Description" }).fill("typed before");
  await context.clearCookies();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await page.getByRole("textbox", { name: "Key" }).fill("e2e-admin-key-e2e-admin-key-e2e-admin-key");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("textbox", { name: "Description" })).toHaveValue("typed before");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("status", { name: "Saved" })).toBeVisible();
});

/** UI-20: somebody else saved meanwhile; both are shown, and one is chosen. */
test("a conflict shows both versions", async ({ page }) => {
  const id = await makeService();
  await page.goto(`${url()}/ui/services/api/${id}?tab=settings`);
  await page.getByRole("textbox", { name: "Description" }).fill("mine");
  await rest("PATCH", `/services/api/${id}`, { description: "theirs" });
  await page.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog", { name: "Changed meanwhile" });
  await expect(dialog).toContainText("theirs");
  await dialog.getByRole("button", { name: "Keep mine" }).click();
  await expect(page.getByRole("status", { name: "Saved" })).toBeVisible();
  const saved = await rest<{ description: string }>("GET", `/services/api/${id}`);
  expect(saved.description).toBe("mine");
});

/** UI-8: a saved secret is never in the page; "Replace" is all there is. */
test("a saved secret is only ever replaced", async ({ page }) => {
  const id = `secret${Date.now()}`;
  const config = { base_url: "http://127.0.0.1:9", auth_type: "bearer", auth_config: { token: "s3cr3t-token" } };
  await rest("POST", "/services", { type: "api", id, config });
  await page.goto(`${url()}/ui/services/api/${id}?tab=settings`);
  await page.getByRole("button", { name: "Replace" }).click();
  await expect(page.getByRole("textbox", { name: "Token", exact: true }).first()).toHaveValue("");
  expect(await page.content()).not.toContain("s3cr3t");
});

/** Names and answers are text, whatever they look like. */
test("hostile names run nothing", async ({ page }) => {
  const name = '<img src=x onerror="document.title=`pwned`">';
  const data = { [name]: name };
  const table = await rest<{ id: string }>("POST", "/tables", { name: `hostile${Date.now()}`, data });
  await page.goto(`${url()}/ui/tables/${table.id}`);
  await expect(page.getByRole("treeitem", { name })).toBeVisible();
  await expect(page).not.toHaveTitle(/pwned/);
});

/** UI-18: a role sees only what it may do. */
test("a caller is not offered what it may not do", async ({ page, context }) => {
  const made = await rest<{ key: string }>("POST", "/keys", { name: `caller${Date.now()}`, role: "viewer" });
  await context.clearCookies();
  await signIn(page, made.key);
  await page.goto(`${url()}/ui/tables`);
  await expect(page.getByRole("heading", { level: 1, name: "Tables" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Upload" })).toHaveCount(0);
  await expect(page.getByRole("link", { name: "People" })).toHaveCount(0);
});
