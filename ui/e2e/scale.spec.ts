// UI-16: ten thousand tools of a thousand services, filtered while one types; few of them are in the page.
import type { Page } from "@playwright/test";
import { expect, rest, signIn, test } from "./base";
import { type Started, start } from "./server";

const SERVICES = 1000;
/** Of them, those with tools; the others stand in the mcp.json, switched off. */
const WITH_TOOLS = 10;
const TOOLS = 1000;
const ROUNDS = 4;

/** What the page's own thread works, in milliseconds: however busy the machine is, it is the same. */
async function workOf(page: Page): Promise<(work: () => Promise<unknown>) => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const spent = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return (metrics.find((metric) => metric.name === "TaskDuration")?.value ?? 0) * 1000;
  };
  return async (work) => {
    const before = await spent();
    await work();
    return (await spent()) - before;
  };
}

const part = (times: number[], share: number) =>
  times.sort((a, b) => a - b)[Math.ceil(times.length * share) - 1] ?? Number.NaN;

let server: Started;

test.beforeAll(async () => {
  test.setTimeout(120_000);
  const names = Array.from({ length: SERVICES - WITH_TOOLS }, (_, at) => `off_${at}`);
  const off = { url: "http://127.0.0.1:9/mcp", disabled: true };
  const mcpServers = Object.fromEntries(names.map((name) => [name, off]));
  server = await start({ "mcp.json": JSON.stringify({ mcpServers }) });
  const config = { base_url: "http://127.0.0.1:9" };
  const tools = Array.from({ length: TOOLS }, (_, at) => ({ id: `tool_${at}`, endpoint: `/${at}` }));
  for (let at = 0; at < WITH_TOOLS; at++) {
    await rest("POST", "/services", { type: "api", id: `big_${at}`, config, tools }, server.api);
  }
});
test.afterAll(() => server.stop());

test("ten thousand tools are filtered at once", async ({ page }) => {
  await signIn(page, undefined, server.url);
  await page.goto(`${server.url}/ui/tools`);
  const rows = page.getByRole("table", { name: "Tools" }).getByRole("row");
  await expect(page.getByRole("table", { name: "Tools" })).toHaveAttribute(
    "aria-rowcount",
    `${WITH_TOOLS * TOOLS + 1}`,
  );
  await expect.poll(() => rows.count()).toBeGreaterThan(10);
  expect(await rows.count()).toBeLessThanOrEqual(100);
  const filter = page.getByRole("searchbox", { name: "Filter tools" });
  await filter.focus();
  const work = await workOf(page);
  const times: number[] = [];
  for (const letter of "big_7__tool_7") {
    times.push(
      await work(async () => {
        await page.keyboard.press(letter);
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
      }),
    );
    expect(await rows.count()).toBeLessThanOrEqual(100);
  }
  // Itself and those whose names go on: 70 to 79 and 700 to 799, of which some are drawn.
  await expect(page.getByRole("table", { name: "Tools" })).toHaveAttribute("aria-rowcount", "112");
  expect(part(times, 0.5)).toBeLessThan(50);
});

/** UI-16, where tables are cards: few of them are in the page, wherever one has scrolled to. */
test("ten thousand tools are few cards where it is narrow", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await signIn(page, undefined, server.url);
  await page.goto(`${server.url}/ui/tools`);
  const table = page.getByRole("table", { name: "Tools" });
  const rows = table.getByRole("row");
  await expect(table).toHaveAttribute("aria-rowcount", `${WITH_TOOLS * TOOLS + 1}`);
  await expect.poll(() => rows.count()).toBeGreaterThan(3);
  expect(await rows.count()).toBeLessThanOrEqual(100);
  const first = await rows.nth(1).textContent();
  await rows.nth(1).hover();
  await page.mouse.wheel(0, 100_000);
  await expect.poll(() => rows.nth(1).textContent()).not.toBe(first);
  expect(await rows.count()).toBeLessThanOrEqual(100);
});

test("pages change at once, however much there is", async ({ page }) => {
  await signIn(page, undefined, server.url);
  await page.goto(server.url);
  await expect(page.getByRole("status", { name: "Live" })).toBeVisible({ timeout: 30_000 });
  const pages = ["Services", "Tools", "Tables", "Doors", "Flows", "Agents", "Calls", "People", "Settings", "Home"];
  const go = async (name: string) => {
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name, exact: true }).click();
    await expect(page.getByRole("heading", { level: 1, name, exact: true })).toBeFocused();
    expect(await page.getByRole("row").count()).toBeLessThanOrEqual(100);
  };
  // The code of each page comes once.
  for (const name of pages) await go(name);
  const work = await workOf(page);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of pages) times.push(await work(() => go(name)));
  }
  expect(part(times, 0.95)).toBeLessThan(100);
});
