// What goes wrong on the way loses nothing that was typed.
import type { Page } from "@playwright/test";
import { ADMIN, expect, rest, signIn, test, url } from "./base";
import { gateway } from "./gateway";
import { type Started, start } from "./server";

// Servers that fail and connections that are gone are what this is about.
test.use({ isMissing: true });

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

/** Whatever asks the server first notices: the button, or something that asks by itself. */
async function saveSignedOut(page: Page): Promise<void> {
  const heading = page.getByRole("heading", { name: "Sign in" });
  await page
    .getByRole("button", { name: "Save" })
    .click({ timeout: 5000 })
    .catch(() => expect(heading).toBeVisible());
  await expect(heading).toBeVisible();
}

/** UI-8 and UI-20: signed out in the middle of a form, the draft is there afterwards, and no secret. */
test("a form outlives being signed out", async ({ page, context }) => {
  const id = await makeService();
  await page.goto(`${url()}/ui/services/api/${id}?tab=settings`);
  await page.getByRole("textbox", { name: "Description" }).fill("typed before");
  await context.clearCookies();
  await saveSignedOut(page);
  await page.getByRole("textbox", { name: "Key" }).fill(ADMIN);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("textbox", { name: "Description" })).toHaveValue("typed before");
  await expect(page.getByRole("alert")).toHaveCount(0);
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

/** UI-8: a saved secret is in no answer, on no page and in no storage, wherever one looks; "Replace" is all there is. */
test("a saved secret is only ever replaced", async ({ page }) => {
  const id = `secret${Date.now()}`;
  const secret = "s3cr3t-token";
  const config = { base_url: "http://127.0.0.1:9", auth_type: "bearer", auth_config: { token: secret } };
  const retry = { max_attempts: 1 };
  const tools = [{ id: "get", endpoint: "/x" }];
  await rest("POST", "/services", { type: "api", id, config: { ...config, retry }, tools });
  await rest("POST", "/call", { uri: `api://${id}/get`, arguments: {} });
  const told: Promise<string>[] = [];
  page.on("response", (response) => {
    const isStream = response.headers()["content-type"]?.includes("event-stream");
    if (response.url().includes("/api/") && !isStream) told.push(response.text().catch(() => ""));
  });
  const service = `/ui/services/api/${id}`;
  const tabs = ["overview", "tools", "settings", "changes", "used"].map((tab) => `${service}?tab=${tab}`);
  const failed = await rest<{ items: { id: string }[] }>("GET", `/audit?service=${id}&limit=1`);
  for (const path of [...tabs, `${service}/tools/get`, `/ui/calls/${failed.items[0]?.id}`, "/ui/settings?tab=doctor"]) {
    await page.goto(url() + path);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
    expect(await page.content()).not.toContain(secret);
  }
  await page.goto(`${url()}${service}?tab=settings`);
  await page.getByRole("button", { name: "Replace" }).click();
  const field = page.getByRole("textbox", { name: "Token", exact: true }).first();
  await expect(field).toHaveValue("");
  await field.fill("s3cr3t-another");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("status", { name: "Saved" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("button", { name: "Replace" })).toBeVisible();
  const kept = await page.evaluate(async () => {
    const databases = await indexedDB.databases();
    return JSON.stringify([{ ...localStorage }, { ...sessionStorage }, databases, document.cookie, location.href]);
  });
  const all = [...(await Promise.all(told)), await page.content(), kept];
  expect(all.length).toBeGreaterThan(20);
  expect(all.filter((text) => text.includes("s3cr3t"))).toEqual([]);
});

/** A server of its own behind a gateway, which answers while the server is gone. */
async function behindGateway(page: Page, then: (at: string, server: Started) => Promise<void>): Promise<void> {
  const server = await start();
  const proxy = await gateway(url(), server.api);
  try {
    await signIn(page, ADMIN, proxy.url);
    await then(proxy.url, server);
  } finally {
    proxy.stop();
    await server.stop();
  }
}

/** UI-20: a server that fails, or is not there, loses nothing that was typed. */
test("a form outlives a server that fails, and one that is gone", async ({ page, context }) => {
  test.setTimeout(120_000);
  await behindGateway(page, async (at, server) => {
    const config = { base_url: "http://127.0.0.1:9" };
    await rest("POST", "/services", { type: "api", id: "crm", config }, server.api);
    await page.goto(`${at}/ui/services/api/crm?tab=settings`);
    const description = page.getByRole("textbox", { name: "Description" });
    await description.fill("typed before");
    const save = page.getByRole("button", { name: "Save" });
    await server.halt();
    const [refused] = await Promise.all([
      page.waitForResponse((response) => response.request().method() === "PATCH"),
      save.click(),
    ]);
    expect(refused.status()).toBe(502);
    await expect(page.getByRole("alert").first()).toContainText("502");
    await expect(description).toHaveValue("typed before");
    await server.resume();
    await context.setOffline(true);
    await save.click();
    await expect(page.getByRole("alert", { name: /cannot be reached/ })).toBeVisible();
    await expect(description).toHaveValue("typed before");
    await context.setOffline(false);
    await save.click();
    await expect(page.getByRole("status", { name: "Saved" })).toBeVisible();
    const saved = await rest<{ description: string }>("GET", "/services/api/crm", undefined, server.api);
    expect(saved.description).toBe("typed before");
  });
});

/** UI-20: the text of a flow, which is the longest that anybody types here, through all of it. */
test("a flow outlives 401, 409, 5xx and a lost connection", async ({ page, context }) => {
  test.setTimeout(120_000);
  await behindGateway(page, async (at, server) => {
    const source = "nodes: {a: {with: 1}}\n";
    await rest("POST", "/flows", { id: "outlives", source }, server.api);
    await page.goto(`${at}/ui/flows/outlives?tab=yaml`);
    const yaml = page.getByRole("textbox", { name: "YAML" });
    await yaml.focus();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("# mine");
    const save = page.getByRole("button", { name: "Save" });
    await server.halt();
    await save.click();
    await expect(page.getByRole("alert").filter({ hasText: "502" }).first()).toBeVisible();
    await server.resume();
    await context.setOffline(true);
    await save.click();
    await expect(page.getByRole("alert", { name: /cannot be reached/ })).toBeVisible();
    await context.setOffline(false);
    await context.clearCookies();
    await saveSignedOut(page);
    await page.getByRole("textbox", { name: "Key" }).fill(ADMIN);
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(yaml).toContainText("# mine");
    await rest("PUT", "/flows/outlives/draft", { source: "nodes: {a: {with: 3}} # theirs\n" }, server.api);
    await save.click();
    const dialog = page.getByRole("dialog", { name: "Changed meanwhile" });
    await expect(dialog).toContainText("# theirs");
    await dialog.getByRole("button", { name: "Keep mine" }).click();
    await expect(page.getByRole("status", { name: "Saved" })).toBeVisible();
    const saved = await rest<{ source: string }>("GET", "/flows/outlives", undefined, server.api);
    expect(saved.source).toContain("# mine");
  });
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

/** UI-20: a server that is frozen keeps its connections, and is gone all the same. */
test("a server that stands still is not live, and loses nothing that was typed", async ({ page }) => {
  test.setTimeout(120_000);
  const frozen = await start();
  try {
    const config = { base_url: "http://127.0.0.1:9" };
    await rest("POST", "/services", { type: "api", id: "crm", config }, frozen.api);
    await signIn(page, ADMIN, frozen.url);
    await page.goto(`${frozen.url}/ui/services/api/crm?tab=settings`);
    const description = page.getByRole("textbox", { name: "Description" });
    await description.fill("typed before");
    await expect(page.getByRole("status", { name: "Live" })).toBeVisible();
    frozen.freeze();
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("status", { name: "Reconnecting" })).toBeVisible({ timeout: 35_000 });
    const late = page.getByRole("alert").filter({ hasText: "has not answered in time" });
    await expect(late.first()).toBeVisible({ timeout: 35_000 });
    await expect(description).toHaveValue("typed before");
    frozen.thaw();
    await expect(page.getByRole("status", { name: "Live" })).toBeVisible({ timeout: 35_000 });
    await expect(description).toHaveValue("typed before");
  } finally {
    frozen.thaw();
    await frozen.stop();
  }
});
