// Several tabs of one browser: they have one cookie, and few connections between them.
import type { Page } from "@playwright/test";
import { ADMIN, expect, rest, signIn, test, url } from "./base";

const mark = `tabs${Date.now()}`;
let theirs = "";

test.beforeAll(async () => {
  await rest("POST", "/tenants", { id: mark, name: `Tenant ${mark}` });
  const made = { name: `manager of ${mark}`, role: "manager", tenant: mark };
  theirs = (await rest<{ key: string }>("POST", "/keys", made)).key;
  await rest("POST", "/services", { type: "api", id: mark, config: { base_url: "http://127.0.0.1:9" } });
});

async function signInOn(page: Page, key: string): Promise<void> {
  await page.getByRole("textbox", { name: "Key" }).fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
}

const somebodyElse = (page: Page) => page.getByRole("alert", { name: /has signed in in another tab/ });

/** UI-13: who signs in elsewhere is told to all tabs at once, and drafts stay with whom they belong to. */
test("a tab says at once that somebody else has signed in, and goes on as who it was", async ({ page, context }) => {
  await signIn(page);
  await page.goto(`${url()}/ui/services/api/${mark}?tab=settings`);
  const description = page.getByRole("textbox", { name: "Description" });
  await description.fill("typed before");
  const other = await context.newPage();
  await other.goto(url());
  await other.getByRole("button", { name: "Account" }).click();
  await other.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await signInOn(other, theirs);
  await expect(other.getByRole("heading", { level: 1, name: "Home" })).toBeVisible();
  await expect(somebodyElse(page)).toContainText(`manager of ${mark}`);
  await signInOn(page, ADMIN);
  await expect(somebodyElse(page)).toHaveCount(0);
  await expect(description).toHaveValue("typed before");
  // Now it is the other one that belongs to nobody who is here.
  await expect(somebodyElse(other)).toBeVisible();
  await other.getByRole("button", { name: /^Go on as/ }).click();
  await expect(other.getByRole("combobox", { name: "Tenant" })).toBeVisible();
  await expect(somebodyElse(other)).toHaveCount(0);
});

/** UI-13: and where nobody tells it, the server does; nothing is made in the tenant of whoever came. */
test("a tab saves nothing as somebody else", async ({ page }) => {
  await signIn(page);
  await page.goto(`${url()}/ui/tools/new`);
  await page.getByRole("textbox", { name: "Name", exact: true }).fill(`drawn_${mark}`);
  await page.getByRole("textbox", { name: "Endpoint" }).fill("https://example.com/x");
  await signIn(page, theirs);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(somebodyElse(page)).toContainText(`manager of ${mark}`);
  for (const tenant of ["default", mark]) {
    const { items } = await rest<{ items: { name: string }[] }>("GET", `/tools?limit=1000&tenant_id=${tenant}`);
    expect(items.map(({ name }) => name)).not.toContain(`drawn_${mark}`);
  }
  await signInOn(page, ADMIN);
  await expect(page.getByRole("textbox", { name: "Name", exact: true })).toHaveValue(`drawn_${mark}`);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("heading", { level: 1, name: `drawn_${mark}` })).toBeVisible();
});

/** UI-12: browsers open six connections to a host; eight tabs, two of them with a run that waits, still answer. */
test("eight tabs are live and answer", async ({ page, context }) => {
  const source = 'nodes:\n  ok: {approval: {title: "Ship it?"}}\n';
  await rest("POST", "/flows", { id: mark, source });
  const runs: string[] = [];
  for (let n = 0; n < 2; n++) {
    const run = { version: "draft", inputs: {}, wait_seconds: 0 };
    runs.push((await rest<{ id: string }>("POST", `/flows/${mark}/runs`, run)).id);
  }
  await signIn(page);
  const paths = [...runs.map((id) => `/ui/runs/${id}`), ...Array.from({ length: 6 }, () => "/ui/services")];
  const tabs: Page[] = [];
  for (const [at, path] of paths.entries()) {
    const tab = at === 0 ? page : await context.newPage();
    await tab.goto(url() + path);
    await expect(tab.getByRole("status", { name: "Live" })).toBeVisible({ timeout: 20_000 });
    tabs.push(tab);
  }
  const id = `${mark}news`;
  await rest("POST", "/services", { type: "api", id, config: { base_url: "http://127.0.0.1:9" } });
  for (const tab of tabs.slice(2)) {
    await expect(tab.getByRole("link", { name: id, exact: true })).toBeVisible({ timeout: 5_000 });
  }
  // Whoever had the connection goes; another one takes it over.
  await tabs[0]?.close();
  await rest("POST", "/services", { type: "api", id: `${id}2`, config: { base_url: "http://127.0.0.1:9" } });
  await expect(tabs[7]?.getByRole("link", { name: `${id}2`, exact: true }) ?? page.locator("none")).toBeVisible();
  await rest("POST", `/runs/${runs[1]}/cancel`);
  await expect(tabs[1]?.getByRole("heading", { level: 1 }).locator("..") ?? page.locator("none")).toContainText(
    "cancelled",
  );
  for (const tab of tabs.slice(1)) await tab.close();
});

/** UI-13: the tenant that an admin looks at outlives a reload, and is called by its name. */
test("the tenant stays chosen", async ({ page }) => {
  await signIn(page);
  await page.goto(`${url()}/ui/tools`);
  const tenant = page.getByRole("combobox", { name: "Tenant" });
  await tenant.selectOption({ label: `Tenant ${mark} (${mark})` });
  await expect(page.getByRole("link", { name: "example_orders" })).toHaveCount(0);
  await page.reload();
  await expect(tenant).toHaveValue(mark);
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "People" }).click();
  await page.reload();
  await expect(tenant).toHaveValue(mark);
  await expect(page.getByText(`manager of ${mark}`)).toBeVisible();
});
