// Names and answers that mean no good: they are shown as text, they fit, and nothing of them runs.
import { expect, rest, signIn, test, url } from "./base";
import { upstream } from "./upstream";

test.beforeEach(({ page }) => signIn(page));

/** Right-to-left overrides, markup, and a word without an end. */
const NAMES = ["\u202egnp.exe\u202c abc", '<script>document.title="pwned"</script>', "x".repeat(10_000)];

test("hostile keys of a table stay in their places", async ({ page }) => {
  const data = {
    list: NAMES.map((name) => ({ [name]: name })),
    ...Object.fromEntries(NAMES.map((name) => [name, name])),
  };
  const table = await rest<{ id: string }>("POST", "/tables", { name: `hostile${Date.now()}`, data });
  for (const size of [1280, 390]) {
    await page.setViewportSize({ width: size, height: 800 });
    for (const tab of ["tree", "grid", "query"]) {
      await page.goto(`${url()}/ui/tables/${table.id}?tab=${tab}`);
      await expect(page.getByRole("main")).toContainText("gnp.exe");
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(sideways, `${tab} at ${size}`).toBeLessThanOrEqual(0);
    }
  }
  await expect(page).not.toHaveTitle(/pwned/);
});

test("hostile names of services and flows stay in their places", async ({ page }) => {
  const id = `hostile${Date.now()}`;
  const name = `\u202e<b onclick="document.title=1">${"w".repeat(90)}`;
  const made = await rest<{ id: string }>("POST", "/services", {
    type: "api",
    id,
    name,
    description: "y".repeat(2000),
    config: { base_url: "http://127.0.0.1:9" },
  }).catch((error: Error) => error);
  // A name with control characters is the server's to refuse; then it says so.
  if (made instanceof Error) expect(made.message).toContain("name");
  await rest("POST", "/flows", { id, source: `name: ${JSON.stringify(name)}\nnodes: {a: {with: 1}}\n` });
  await page.setViewportSize({ width: 390, height: 800 });
  for (const path of ["/ui/services", "/ui/flows", `/ui/flows/${id}`, "/ui/tools"]) {
    await page.goto(url() + path);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
    const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(sideways, path).toBeLessThanOrEqual(0);
  }
});

/** UI-14: a name that nobody has, of three thousand letters, and one that turns round what stands beside it. */
test("hostile names of calls and tools stay in their places", async ({ page }) => {
  const mark = `hostile${Date.now()}`;
  await rest("POST", "/call", { uri: `api://${mark}/${"y".repeat(3000)}`, arguments: {} }).catch(() => undefined);
  const turned = `${mark} \u202egnp.exe`;
  await rest("POST", "/mcp", { name: turned });
  for (const size of [1280, 390]) {
    await page.setViewportSize({ width: size, height: 800 });
    for (const path of ["/", "/ui/calls", "/ui/tools", "/ui/doors"]) {
      await page.goto(url() + path);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(sideways, `${path} at ${size}`).toBeLessThanOrEqual(0);
    }
  }
  const link = page.getByRole("link", { name: `${mark} ⟨U+202E⟩gnp.exe` });
  await expect(link).toBeVisible();
  expect(await link.locator("bdi").evaluate((name) => getComputedStyle(name).unicodeBidi)).toBe("isolate");
});

/** A megabyte is shown in part, at once, and the page goes on. */
test("an answer of a megabyte does not stop the page", async ({ page }) => {
  const text = "<script>document.title='pwned'</script>".repeat(27_000);
  const large = await upstream((_, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ text }));
  });
  const id = `large${Date.now()}`;
  const config = { base_url: large.url, retry: { max_attempts: 1 } };
  await rest("POST", "/services", { type: "api", id, config, tools: [{ id: "get", endpoint: "/x" }] });
  await page.goto(`${url()}/ui/try?uri=api://${id}/get`);
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByRole("region", { name: "Answer", exact: true })).toContainText("<script>");
  const shown = await page.getByRole("region", { name: "Answer", exact: true }).textContent();
  expect(shown?.length).toBeLessThan(300_000);
  await page.getByRole("tab", { name: "JSON" }).first().click();
  await expect(page.getByRole("textbox", { name: "JSON" })).toBeVisible();
  await expect(page).not.toHaveTitle(/pwned/);
  large.stop();
});
