// Every page, at both sizes, in both themes and languages: axe finds nothing, nothing goes sideways, no errors.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, rest, signIn, test, url } from "./base";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

type Made = { id: string };
const paths: string[] = [];
/** Names of this worker alone: a worker that failed is followed by another one. */
const mark = `pages${Date.now()}`;

test.beforeAll(async () => {
  const orders = [
    { id: "o1", status: "open" },
    { id: "o2", status: "closed" },
  ];
  const table = await rest<Made>("POST", "/tables", { name: "pages", data: { orders } });
  const tool = await rest<Made>("POST", "/tools", {
    name: `query_${mark}`,
    type: "query_data",
    table_id: table.id,
    json_path: "/orders",
  });
  const HTTP = {
    endpoint: "https://example.com/{city}",
    method: "GET",
    parameters: [{ name: "city", position: "path", required: true }],
  };
  const http = await rest<Made>("POST", "/tools", { name: `http_${mark}`, type: "http", config: { HTTP } });
  const door = await rest<Made>("POST", "/mcp", { name: "pages door" });
  await rest("POST", `/mcp/id/${door.id}/bindings`, { bindings: [{ tool_id: tool.id }] });
  const config = { base_url: "http://127.0.0.1:9", retry: { max_attempts: 1 } };
  await rest("POST", "/services", { type: "api", id: mark, config, tools: [{ id: "get", endpoint: "/x" }] });
  await rest("POST", "/call", { uri: `api://${mark}/get`, arguments: {} });
  const source = `name: Pages\nnodes:\n  a: {exec: "api://${mark}/get", next: b}\n  b: {return: ok}\n`;
  await rest("POST", "/flows", { id: mark, source });
  const run = await rest<Made>("POST", `/flows/${mark}/runs`, { version: "draft", inputs: {}, wait_seconds: 20 });
  const calls = await expectCall();
  const service = `/ui/services/api/${mark}`;
  const ofService = ["overview", "tools", "settings", "changes", "used"].map((tab) => `${service}?tab=${tab}`);
  const ofTool = ["definition", "try", "versions", "doors"].map((tab) => `/ui/tools/${tool.id}?tab=${tab}`);
  const ofTable = ["tree", "grid", "query", "versions"].map((tab) => `/ui/tables/${table.id}?tab=${tab}`);
  const ofFlow = ["canvas", "yaml", "runs", "versions"].map((tab) => `/ui/flows/${mark}?tab=${tab}`);
  const ofPeople = ["keys", "users", "tenants"].map((tab) => `/ui/people?tab=${tab}`);
  const ofSettings = ["health", "doctor", "about", "preferences"].map((tab) => `/ui/settings?tab=${tab}`);
  paths.push(
    "/",
    "/ui/services",
    "/ui/services/new",
    ...ofService,
    `${service}/tools/get`,
    "/ui/tools",
    "/ui/tools/new",
  );
  paths.push(...ofTool, `/ui/tools/${http.id}`, `/ui/try?uri=tool://query_${mark}/call`, "/ui/tables", ...ofTable);
  paths.push(
    "/ui/doors",
    `/ui/doors/${door.id}`,
    `/ui/doors/${door.id}?connect=1`,
    "/ui/flows",
    "/ui/flows/new",
    ...ofFlow,
  );
  paths.push(`/ui/runs/${run.id}`, "/ui/approvals", "/ui/agents", "/ui/calls", `/ui/calls/${calls}`, "/ui/metrics");
  paths.push(...ofPeople, ...ofSettings);
});

async function expectCall(): Promise<string> {
  let id = "";
  await expect(async () => {
    const { items } = await rest<{ items: Made[] }>("GET", `/audit?status=error&tool=${mark}__get&limit=1`);
    id = items[0]?.id ?? "";
    expect(id).not.toBe("");
  }).toPass();
  return id;
}

const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } };

/** UI-14, UI-15 and UI-17, for whoever looks at every page. */
for (const [size, viewport] of Object.entries(sizes)) {
  for (const [theme, language] of [
    ["light", "en"],
    ["dark", "zh-CN"],
  ] as const) {
    test(`every page is right: ${size}, ${theme}, ${language}`, async ({ page }) => {
      test.setTimeout(300_000);
      await page.setViewportSize(viewport);
      await page.addInitScript(
        ([theme, language]) => {
          localStorage.setItem("preferences", JSON.stringify({ theme, keys: true }));
          localStorage.setItem("language", language);
        },
        [theme, language] as const,
      );
      await signIn(page);
      const wrong: string[] = [];
      for (const path of paths) {
        await page.goto(url() + path);
        await expect(page.getByRole("heading", { level: 1, includeHidden: true })).toBeVisible();
        await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
        await page.evaluate(axe);
        const found = await page
          .evaluate((rules) => (globalThis as unknown as Axe).axe.run({ runOnly: rules }), RULES)
          .catch(String);
        wrong.push(...described(path, found));
        const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (sideways > 0) wrong.push(`${path}: ${sideways} px sideways`);
      }
      expect(wrong).toEqual([]);
    });
  }
}

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
type Violation = { id: string; nodes: { html: string; failureSummary?: string }[] };
type Axe = { axe: { run: (options: object) => Promise<{ violations: Violation[] }> } };

function described(path: string, found: unknown): string[] {
  if (typeof found === "string") return [`${path}: ${found}`];
  return (found as { violations: Violation[] }).violations.map(
    (violation) =>
      `${path}: ${violation.id} ${violation.nodes[0]?.html.slice(0, 200)} ${violation.nodes[0]?.failureSummary}`,
  );
}
