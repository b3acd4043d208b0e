// What people who had never seen the console stumbled over.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import { ADMIN, expect, rest, signIn, test, url } from "./base";
import { upstream } from "./upstream";
import { dress } from "./world";

type Made = { id: string };

test.beforeEach(({ page }) => signIn(page));

const mark = (name: string) => `${name}${Date.now()}`;
const FLOW = "nodes:\n  a: {with: 1, next: b}\n  b: {with: 2}\n";

async function makeService(id: string, base_url: string, tools: object[] = [{ id: "get", endpoint: "/x" }]) {
  const config = { base_url, retry: { max_attempts: 1 } };
  await rest("POST", "/services", { type: "api", id, config, tools });
}

const sideways = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

/** UI-18: every name in a list leads somewhere, so what has no page is in none. */
test("the server's own service is not among theirs", async ({ page }) => {
  const id = mark("runsown");
  await makeService(id, "http://127.0.0.1:9");
  await rest("POST", "/flows", { id, source: FLOW });
  await rest("POST", `/flows/${id}/publish`, {});
  await rest("POST", "/call", { uri: "flows://runs/flow_run", arguments: { run_id: id } }).catch(() => undefined);
  for (const path of ["/ui/services?q=runs", "/ui/settings", "/"]) {
    await page.goto(url() + path);
    if (path === "/") await page.getByRole("button", { name: "Show as table" }).click();
    await expect(page.getByRole("cell").first(), path).toBeVisible();
    await expect(page.getByText("Runs of flows"), path).toHaveCount(0);
  }
  await page.keyboard.press("Control+k");
  await page.keyboard.type(id);
  await expect(page.getByRole("option", { name: id }).first()).toBeVisible();
  await page.getByRole("dialog").getByRole("combobox").fill("Runs of flows");
  await expect(page.getByRole("option", { name: "Runs of flows", exact: true })).toHaveCount(0);
});

/** UI-18: what needs a service is a click away from it. */
test("what uses a service is a link, and says which version", async ({ page }) => {
  const id = mark("used");
  await makeService(id, "http://127.0.0.1:9");
  await rest("POST", "/flows", { id, source: `nodes: {a: {exec: "api://${id}/get"}}\n` });
  await rest("POST", `/flows/${id}/publish`, {});
  await rest("POST", "/tools", { name: `t_${id}`, type: "uri", uri: `api://${id}/get` });
  await page.goto(`${url()}/ui/services/api/${id}?tab=used`);
  const rows = page.getByRole("table", { name: "Used by" }).getByRole("row");
  await expect(rows.filter({ hasText: "draft" }).getByRole("link", { name: id, exact: true })).toBeVisible();
  await page.getByRole("link", { name: `t_${id}` }).click();
  await expect(page.getByRole("heading", { level: 1, name: `t_${id}` })).toBeVisible();
  await page.goBack();
  await page.getByRole("link", { name: id, exact: true }).first().click();
  await expect(page.getByRole("application", { name: "Canvas" })).toBeVisible();
});

/** UI-4: what was called with options is the same tool, and is called with them again. */
test("a call with options in its address is run again", async ({ page }) => {
  const id = mark("options");
  await makeService(id, "http://127.0.0.1:9");
  const uri = `api://${id}/get?timeout=500`;
  await rest("POST", "/call", { uri, arguments: {} });
  await page.goto(`${url()}/ui/try?uri=${encodeURIComponent(uri)}`);
  await expect(page.getByRole("combobox", { name: "Tool" })).toHaveValue(`${id}__get`);
  await expect(page.getByText("There is no such tool")).toHaveCount(0);
  const asked = page.waitForRequest((request) => request.url().includes("/api/v1/call"));
  await page.getByRole("button", { name: "Run" }).click();
  expect((await asked).postDataJSON()).toMatchObject({ uri });
});

test("a tool that is to be made is not asked for", async ({ page }) => {
  const id = mark("tomake");
  await makeService(id, "http://127.0.0.1:9", [
    { id: "get", endpoint: "/x" },
    { id: "new", endpoint: "/new" },
  ]);
  await makeService(`${id}-other`, "http://127.0.0.1:9");
  await page.goto(`${url()}/ui/services/api/${id}-other/tools/new`);
  await expect(page.getByRole("heading", { level: 1, name: "Add tool" })).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Endpoint" })).toBeVisible();
  // One that is called so is seen at the same address.
  await page.goto(`${url()}/ui/services/api/${id}/tools/new`);
  await expect(page.getByRole("textbox", { name: "Endpoint" })).toHaveValue("/new");
});

test("a description without spaces stays on its page", async ({ page }) => {
  const id = mark("wordy");
  const description = `\u202e${"x".repeat(900)}`;
  const door = await rest<Made>("POST", "/mcp", { name: id, description });
  await makeService(id, "http://127.0.0.1:9", [{ id: "get", endpoint: "/x", description: "y".repeat(900) }]);
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    for (const path of [`doors/${door.id}`, `services/api/${id}/tools/get`, `services/api/${id}?tab=tools`]) {
      await page.goto(`${url()}/ui/${path}`);
      await expect(
        page
          .getByRole("main")
          .getByText(/x{99}|y{99}/)
          .first(),
      ).toBeVisible();
      expect(await sideways(page), `${path} at ${width}`).toBeLessThanOrEqual(0);
    }
  }
  await page.goto(`${url()}/ui/doors/${door.id}`);
  await expect(page.getByText(/⟨U\+202E⟩x/)).toBeVisible();
});

test("a table's tree cuts long keys and values, shows what turns lines round, and names an empty key", async ({
  page,
}) => {
  const data = { "\u202eyek": 1, ["k".repeat(10_000)]: "v".repeat(10_000), "": "nameless", list: [{ "": 1, a: 2 }] };
  const table = await rest<Made>("POST", "/tables", { name: mark("keys"), data });
  await page.goto(`${url()}/ui/tables/${table.id}`);
  await expect(page.getByRole("treeitem", { name: "⟨U+202E⟩yek" })).toBeVisible();
  await expect(page.getByRole("treeitem", { name: "(empty key)" })).toBeVisible();
  const long = page.getByRole("treeitem", { name: /^k{100}/ });
  expect((await long.getAttribute("aria-label"))?.length).toBeLessThan(300);
  expect((await long.boundingBox())?.height).toBeLessThan(150);
  await expect(long.locator("[title^=kkk]")).toBeVisible();
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  type Axe = { axe: { run: () => Promise<{ violations: { id: string }[] }> } };
  for (const tab of ["tree", "grid"]) {
    await page.setViewportSize({ width: tab === "tree" ? 1280 : 390, height: 800 });
    await page.goto(`${url()}/ui/tables/${table.id}?tab=${tab}`);
    await expect(page.getByText("(empty key)").first()).toBeVisible();
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => (globalThis as unknown as Axe).axe.run());
    expect(violations.map(({ id }) => id)).toEqual([]);
  }
});

/** A page has a hundred fields, and their names together may be longer than a query. */
test("the grid has the values of fields with long names", async ({ page }) => {
  const named = Array.from({ length: 100 }, (_, at) => [`${"name ".repeat(12)}${at}`, `value ${at}`]);
  const data = Object.fromEntries([["k".repeat(10_000), "of the longest"], ["empty", {}], ...named]);
  const table = await rest<Made>("POST", "/tables", { name: mark("names"), data });
  await page.goto(`${url()}/ui/tables/${table.id}?tab=grid`);
  for (const value of ["of the longest", "{}", "value 0", "value 1"])
    await expect(page.getByRole("cell", { name: value, exact: true })).toBeVisible();
});

test("a tool without a request says so, and not that it ended before it", async ({ page }) => {
  const id = mark("silent_table");
  const table = await rest<Made>("POST", "/tables", { name: id, data: { orders: [{ id: "o1" }] } });
  await rest("POST", "/tools", { name: id, type: "query_data", table_id: table.id, json_path: "/orders" });
  await page.goto(`${url()}/ui/try?uri=tool://${id}/call`);
  await page.getByRole("textbox", { name: "Query" }).fill("[0].id");
  await page.getByRole("button", { name: "Run" }).click();
  const request = page.getByRole("region", { name: "Request" });
  await expect(request).toContainText("This tool sends no request that could be shown.");
});

test("an answer that broke off is told from none, and an empty one from both", async ({ page }) => {
  const broken = await upstream((request, response) => {
    if (request.url === "/empty") return response.setHeader("Content-Type", "application/json").end("null");
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "100" });
    response.write("abc");
    setTimeout(() => response.destroy(), 100);
  });
  const id = mark("cut");
  await makeService(id, broken.url, [
    { id: "get", endpoint: "/x" },
    { id: "empty", endpoint: "/empty" },
  ]);
  const raw = page.getByRole("region", { name: "Raw answer" });
  for (const [tool, said] of [
    ["get", "The answer began with HTTP status 200 and broke off."],
    ["empty", "The answer is empty."],
  ] as const) {
    await page.goto(`${url()}/ui/try?uri=api://${id}/${tool}`);
    await page.getByRole("button", { name: "Run" }).click();
    await expect(raw).toContainText(said);
  }
  broken.stop();
});

test("the canvas speaks the language of the page", async ({ page }) => {
  const id = mark("spoken");
  await rest("POST", "/flows", { id, source: FLOW });
  await dress(page, ["light", "zh-CN"]);
  await page.goto(`${url()}/ui/flows/${id}`);
  await expect(page.getByLabel("从 a 到 b 的连线")).toBeAttached();
  await expect(page.getByLabel(/^Edge/)).toHaveCount(0);
  await expect(page.locator("[aria-roledescription=edge], [aria-roledescription=node]")).toHaveCount(0);
});

/** UI-6: what is done in the panel is seen on the plane. */
test("steps stay in sight when one comes to stand elsewhere", async ({ page }) => {
  const id = mark("fits");
  await rest("POST", "/flows", { id, source: FLOW.replace(", next: b", "") });
  await page.goto(`${url()}/ui/flows/${id}`);
  await page.getByRole("group", { name: "Step a, not run" }).click();
  await page.getByRole("combobox", { name: "Next" }).selectOption("b");
  const canvas = page.getByRole("application", { name: "Canvas" });
  const isInside = async () => {
    const [step, plane] = await Promise.all(
      [page.getByRole("group", { name: "Step b, not run" }), canvas].map((one) => one.boundingBox()),
    );
    return !!step && !!plane && step.x + step.width <= plane.x + plane.width;
  };
  await expect.poll(isInside).toBe(true);
});

/** The contract: a canvas is never blank, also of a draft that was saved broken. */
test("a draft that was saved broken is drawn as far as it can be read", async ({ page }) => {
  const id = mark("broken");
  await rest("POST", "/flows", { id, source: `${FLOW}  c: {exec: [` });
  await page.goto(`${url()}/ui/flows/${id}`);
  await expect(page.getByRole("status").filter({ hasText: "The YAML cannot be read now" })).toBeVisible();
  await expect(page.getByRole("group", { name: "Step b, not run" })).toBeVisible();
});

/** The plane makes room for the panel of a step; whoever presses a button for as long as people do still hits the step. */
test("a step that is clicked slowly opens its panel", async ({ page }) => {
  const id = mark("slowly");
  await rest("POST", "/flows", { id, source: FLOW });
  await page.goto(`${url()}/ui/flows/${id}`);
  await page.getByRole("group", { name: "Step b, not run" }).click({ delay: 300 });
  await expect(page.getByRole("region", { name: "b", exact: true })).toBeVisible();
  await page.getByRole("group", { name: "Step a, not run" }).click({ delay: 300 });
  await expect(page.getByRole("region", { name: "a", exact: true })).toBeVisible();
});

test("lists keep names whole beside long descriptions, which are cut", async ({ page }) => {
  const id = mark("whole");
  await makeService(id, "http://127.0.0.1:9", [{ id: "get_order", endpoint: "/x", description: "long ".repeat(180) }]);
  await page.goto(`${url()}/ui/tools?q=${id}`);
  const row = page.getByRole("row").filter({ hasText: `${id}__get_order` });
  const service = row.getByRole("cell", { name: id, exact: true }).locator("bdi");
  expect((await service.boundingBox())?.height, "in one line").toBeLessThan(30);
  await page.goto(`${url()}/ui/services/api/${id}?tab=tools`);
  const summary = page.getByTitle(/^long long/);
  await expect(summary).toBeVisible();
  expect((await summary.boundingBox())?.height).toBeLessThan(70);
});

test("buttons stand beside what they belong to, and apart from others", async ({ page }) => {
  const id = mark("apart");
  const model = { provider: "openai", base_url: "http://127.0.0.1:9/v1", api_key: "k", model: "m" };
  await rest("POST", "/services", { type: "agent", id, config: model });
  for (const nth of [1, 2]) await rest("POST", "/mcp", { name: `${id} ${nth}` });
  const table = await rest<Made>("POST", "/tables", { name: id, data: [] });
  const tool = await rest<Made>("POST", "/tools", { name: `t_${id}`, type: "get_all_data", table_id: table.id });
  await page.goto(`${url()}/ui/agents/${id}`);
  const message = await page.getByRole("textbox", { name: "Message" }).boundingBox();
  const send = await page.getByRole("button", { name: "Send" }).boundingBox();
  expect((send?.x ?? 0) + (send?.width ?? 0)).toBeLessThanOrEqual((message?.x ?? 0) + (message?.width ?? 0));
  await page.goto(`${url()}/ui/tools/${tool.id}`);
  await page.getByRole("button", { name: "Bind to a door" }).click();
  const [first, second] = await Promise.all(
    [1, 2].map((nth) => page.getByRole("button", { name: `Bind to ${id} ${nth}`, exact: true }).boundingBox()),
  );
  expect((second?.y ?? 0) - (first?.y ?? 0) - (first?.height ?? 0)).toBeGreaterThanOrEqual(8);
});

/** UI-20: signed out, somebody signs in once; what was asked for before that comes late and changes nothing. */
test("an answer from before the sign-in signs nobody out", async ({ page, context }) => {
  await page.goto(url());
  await expect(page.getByRole("heading", { level: 1, name: "Home" })).toBeVisible();
  let release = () => {};
  const released = new Promise<void>((done) => {
    release = done;
  });
  let isSignedOut = false;
  // What the page asks for by itself waits meanwhile: it would be what is told first.
  await page.route("**/api/v1/**", async (route) => {
    const isOurs = /\/(tables|mcp|auth)\b/.test(new URL(route.request().url()).pathname);
    if (isSignedOut && !isOurs) await released;
    await route.fallback();
  });
  await page.route("**/api/v1/tables?*", async (route) => {
    const response = await route.fetch();
    if (response.status() === 401) await released;
    await route.fulfill({ response });
  });
  isSignedOut = true;
  await context.clearCookies();
  const nav = page.getByRole("navigation", { name: "Main" });
  await nav.getByRole("link", { name: "Tables" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Tables" })).toBeVisible();
  await nav.getByRole("link", { name: "Doors" }).click();
  await page.getByRole("textbox", { name: "Key" }).fill(ADMIN);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("table", { name: "Doors" }).or(page.getByText("No doors yet"))).toBeVisible();
  isSignedOut = false;
  const late = page.waitForResponse((response) => response.url().includes("/api/v1/tables?"));
  release();
  expect((await late).status()).toBe(401);
  await nav.getByRole("link", { name: "Flows" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Flows" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Sign in" })).toHaveCount(0);
});
