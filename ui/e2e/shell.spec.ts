// What is around every page: keys, focus, theme, language, and news of what others do.
import { get, type IncomingMessage } from "node:http";
import { api, expect, rest, signIn, test, url } from "./base";

test.beforeEach(({ page }) => signIn(page));

test("keys lead everywhere, and the heading has the focus afterwards", async ({ page }) => {
  await page.goto(url());
  await expect(page.getByRole("heading", { level: 1, name: "Home" })).toBeVisible();
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to content" })).toBeFocused();
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("dialog", { name: "Search everything" })).toBeVisible();
  await page.keyboard.type("metr");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "Metrics" })).toBeFocused();
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Services" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Services" })).toBeFocused();
  await page.keyboard.press("/");
  await expect(page.getByRole("searchbox", { name: "Filter services" })).toBeFocused();
  await page.getByRole("heading", { level: 1 }).focus();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keyboard" })).toBeVisible();
});

test("theme and language are chosen in menus, and kept", async ({ page }) => {
  await page.goto(url());
  await page.getByRole("button", { name: "Theme" }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.getByRole("button", { name: "Language" }).click();
  await page.getByRole("menuitemradio", { name: "简体中文" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "首页" })).toBeVisible();
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("lang", "zh-CN");
});

/** UI-12: what somebody else makes is on the page within two seconds. */
test("others' changes come by themselves", async ({ page }) => {
  const id = `news${Date.now()}`;
  await page.goto(`${url()}/ui/services`);
  await expect(page.getByRole("status", { name: "Live" })).toBeVisible({ timeout: 30_000 });
  await rest("POST", "/services", { type: "api", id, config: { base_url: "http://127.0.0.1:9" } });
  await expect(page.getByRole("link", { name: id })).toBeVisible({ timeout: 2_000 });
});

/** UI-11: services of the mcp.json are shown, and changed in the file alone. */
test("services of the mcp.json are read-only", async ({ page }) => {
  await page.goto(`${url()}/ui/services/mcp/filed?tab=settings`);
  await expect(page.getByRole("heading", { level: 1, name: "filed" })).toBeVisible();
  await expect(page.getByText("comes from mcp.json")).toBeVisible();
  await expect(page.getByRole("switch", { name: "Enabled" })).toBeDisabled();
  await expect(page.getByRole("button", { name: "Save" })).toHaveCount(0);
});

/** UI-11: and their health is told like that of all others. */
test("a service of the mcp.json that nobody answers for says so", async ({ page }) => {
  await page.goto(`${url()}/ui/services`);
  await page.getByRole("searchbox", { name: "Filter services" }).fill("filed");
  const row = page.getByRole("table", { name: "Services" }).getByRole("row").filter({ hasText: "filed" });
  await expect(row).toContainText("failing");
  await expect(row).toContainText("mcp.json");
  await page.goto(`${url()}/ui/settings?tab=health`);
  await expect(page.getByRole("table", { name: "Health" }).getByRole("row").filter({ hasText: "filed" })).toContainText(
    "nobody listens",
  );
});

test("signing out ends the session", async ({ page }) => {
  await page.goto(url());
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await page.getByRole("tab", { name: "User" }).click();
  await expect(page.getByRole("textbox", { name: "Tenant" })).toHaveValue("default");
});

/** What the server says of a file, before anybody unpacks it. */
const told = (address: string, encoding?: string) =>
  new Promise<IncomingMessage>((tell, fail) => {
    const headers = encoding ? { "Accept-Encoding": encoding } : {};
    get(address, { headers }, (response) => {
      response.resume();
      tell(response);
    }).on("error", fail);
  });

/** The contract's headers: files are named after what they hold and kept for good, the page is asked for each time. */
test("files come compressed and are kept, the page is not", async ({ page }) => {
  test.skip(url() !== api(), "this program was built without the console");
  const html = await (await page.request.get(url())).text();
  const assets = [...html.matchAll(/\/assets\/[\w.-]+\.(?:js|css)/g)].map(([path]) => path);
  expect(assets.length).toBeGreaterThan(1);
  for (const path of new Set(assets)) {
    const { headers } = await told(url() + path);
    expect(headers["content-encoding"], path).toBeUndefined();
    expect(headers["cache-control"], path).toContain("immutable");
    expect(headers["x-content-type-options"], path).toBe("nosniff");
    // What is smaller than that is no smaller when it is compressed.
    if (Number(headers["content-length"]) < 512) continue;
    expect((await told(url() + path, "gzip, br")).headers["content-encoding"], path).toBe("br");
    expect((await told(url() + path, "gzip")).headers["content-encoding"], path).toBe("gzip");
  }
  const head = (await told(`${url()}/`)).headers;
  expect(head["cache-control"]).toBe("no-store");
  expect(head["content-security-policy"]).not.toContain("unsafe");
  expect((await told(`${url()}/assets/nothing.js`)).statusCode).toBe(404);
});
