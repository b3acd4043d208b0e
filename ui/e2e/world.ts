// Something of everything, for tests that go through all pages, and how the pages may look.
import type { Page } from "@playwright/test";
import { expect, rest } from "./base";

type Made = { id: string };

const ASKING = `name: Asking
nodes:
  ok:
    approval:
      title: Ship it?
      fields:
        type: object
        required: [reason]
        properties: {reason: {type: string, title: Reason}, urgent: {type: boolean}}
`;

/** What the last of the paths are of: a Tool and a service's tool that are not there. */
export const ABSENT = /\/tools\/(00000000-0000-4000-8000-000000000000|nothing)(\?|$)/;

/** Makes it, and tells the paths of all pages. The mark is part of every name that there may be once only. */
export async function makeWorld(mark: string): Promise<string[]> {
  const paths: string[] = [];
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
  await rest("POST", "/flows", { id: `${mark}-ask`, source: ASKING });
  await rest("POST", `/flows/${mark}-ask/runs`, { version: "draft", inputs: {}, wait_seconds: 1 });
  const model = { provider: "openai", base_url: "http://127.0.0.1:9/v1", api_key: "sk-none", model: "none" };
  await rest("POST", "/services", { type: "agent", id: `${mark}-agent`, config: model });
  const calls = await failedCall(mark);
  const service = `/ui/services/api/${mark}`;
  const ofService = ["overview", "tools", "settings", "changes", "used"].map((tab) => `${service}?tab=${tab}`);
  const ofTool = ["definition", "try", "versions", "doors"].map((tab) => `/ui/tools/${tool.id}?tab=${tab}`);
  const ofTable = ["tree", "grid", "query", "versions"].map((tab) => `/ui/tables/${table.id}?tab=${tab}`);
  const ofFlow = ["canvas", "yaml", "runs", "triggers", "versions"].map((tab) => `/ui/flows/${mark}?tab=${tab}`);
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
  paths.push(...ofPeople, ...ofSettings, `/ui/agents/${mark}-agent`);
  // Nothing is there, and each says so.
  paths.push("/ui/nowhere", "/ui/tools/00000000-0000-4000-8000-000000000000", `${service}/tools/nothing`);
  return paths;
}

async function failedCall(mark: string): Promise<string> {
  let id = "";
  await expect(async () => {
    const { items } = await rest<{ items: Made[] }>("GET", `/audit?status=error&tool=${mark}__get&limit=1`);
    id = items[0]?.id ?? "";
    expect(id).not.toBe("");
  }).toPass();
  return id;
}

export const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } };

export const LOOKS = [
  ["light", "en"],
  ["dark", "zh-CN"],
  ["dark", "en"],
  ["light", "zh-CN"],
] as const;

/** Theme and language, as whoever chose them before finds them. */
export const dress = (page: Page, look: (typeof LOOKS)[number]) =>
  page.addInitScript(([theme, language]) => {
    localStorage.setItem("preferences", JSON.stringify({ theme, keys: true }));
    localStorage.setItem("language", language);
  }, look);
