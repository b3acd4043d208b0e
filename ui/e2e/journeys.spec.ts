// The journeys of the contract, as people go them: by roles and names alone.
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import { api, expect, rest, signIn, test, url } from "./base";
import { upstream } from "./upstream";

test.describe("signed in", () => {
  test.beforeEach(({ page }) => signIn(page));

  /** UI-2: J2, a service of an OpenAPI document, and a call of one of its tools. */
  test("an OpenAPI document becomes a service whose tool answers", async ({ page }) => {
    const id = `self-${Date.now()}`;
    const document = {
      openapi: "3.0.0",
      info: { title: id, version: "1" },
      servers: [{ url: api() }],
      paths: {
        "/healthz": {
          get: { operationId: "health", summary: "Is it well", responses: { 200: { description: "ok" } } },
        },
        "/readyz": { get: { operationId: "ready", responses: { 200: { description: "ok" } } } },
      },
    };
    await page.goto(`${url()}/ui/services`);
    await page.getByRole("link", { name: "Add service" }).first().click();
    await page.getByRole("radio", { name: "HTTP API" }).check();
    await page.getByRole("tab", { name: "OpenAPI" }).click();
    await page.getByRole("textbox", { name: "Address or document" }).fill(JSON.stringify(document));
    await page.getByRole("button", { name: "Preview" }).click();
    const operations = page.getByRole("table", { name: "Operations" });
    await operations.getByRole("checkbox", { name: "ready" }).uncheck();
    await page.getByRole("button", { name: "Create" }).click();
    await expect(page.getByRole("tab", { name: "Tools" })).toHaveAttribute("aria-selected", "true");
    await expect(page.getByRole("table", { name: "Tools" }).getByRole("row")).toHaveCount(2);
    await page.getByRole("link", { name: "Try" }).click();
    await page.getByRole("button", { name: "Run" }).click();
    await expect(page.getByRole("region", { name: "Answer", exact: true })).toContainText("ok");
  });

  /** UI-3: J3 up to the snippet; an MCP client works with the copy. */
  test("a file becomes a tool behind a door that a client connects to", async ({ page }) => {
    const name = `orders_${Date.now()}`;
    await page.goto(`${url()}/ui/tables`);
    await page.getByRole("button", { name: "Upload" }).click();
    const buffer = Buffer.from(JSON.stringify({ orders: [{ id: "o1", status: "open" }] }));
    await page.getByLabel("File").setInputFiles({ name: `${name}.json`, mimeType: "application/json", buffer });
    await expect(page.getByRole("textbox", { name: "Name" })).toHaveValue(name);
    await page.getByRole("dialog").getByRole("button", { name: "Upload" }).click();
    await page.getByRole("treeitem", { name: "orders" }).getByText("orders").click();
    await page.getByRole("button", { name: "Make a tool" }).click();
    await page.getByRole("combobox", { name: "Type" }).selectOption({ label: "Query with JMESPath" });
    await page.getByRole("textbox", { name: "Name" }).fill(`query_${name}`);
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("heading", { level: 1, name: `query_${name}` })).toBeVisible();
    await page.getByRole("button", { name: "Bind to a door" }).click();
    await page.getByRole("button", { name: "New door" }).click();
    const dialog = page.getByRole("dialog", { name: "Key" });
    const key = await dialog.getByRole("textbox", { name: "Key" }).inputValue();
    await dialog.getByRole("button", { name: "Connect" }).click();
    await expect(page.getByRole("status", { name: "Waiting for the first call" })).toBeVisible();
    await page.getByRole("tab", { name: "Cursor" }).click();
    await expect(page.getByRole("textbox", { name: "Snippet" })).toHaveValue(new RegExp(key));
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy" }).click();
    await expect(page.getByRole("status", { name: "Copied" })).toBeVisible();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toBe(await page.getByRole("textbox", { name: "Snippet" }).inputValue());
    await callThroughDoor(copied, `query_${name}`);
    await expect(page.getByRole("status", { name: "Connected" })).toBeVisible({ timeout: 15_000 });
  });

  /** UI-4: J4, a call that nobody answered is explained two clicks from Home. */
  test("an unanswered call says why, what was sent and what to do", async ({ page }) => {
    const id = await makeService("gone", "http://127.0.0.1:9");
    await rest("POST", "/call", { uri: `api://${id}/get`, arguments: { order: "o1" } });
    await explains(page, id, "UNAVAILABLE", "call");
    await expect(page.getByRole("region", { name: "Request" })).toContainText("127.0.0.1:9/x");
    await page.getByRole("link", { name: "Run again" }).click();
    await expect(page.getByRole("textbox", { name: "Order" })).toHaveValue("o1");
  });

  /** UI-4: one that was answered with an error. */
  test("a failed call shows the answer as it came", async ({ page }) => {
    const failing = await upstream((_, response) => {
      response.statusCode = 404;
      response.setHeader("Content-Type", "application/json");
      response.end('{"why":"no such order"}');
    });
    const id = await makeService("failing", failing.url);
    await rest("POST", "/call", { uri: `api://${id}/get`, arguments: { order: "o2" } });
    await explains(page, id, "UPSTREAM_ERROR", "call");
    await expect(page.getByRole("region", { name: "Request" })).toContainText("/x?order=o2");
    await expect(page.getByRole("region", { name: "Raw answer" })).toContainText("no such order");
    failing.stop();
  });

  /** UI-4: one that took too long. */
  test("a call that took too long says so", async ({ page }) => {
    const silent = await upstream(() => {});
    const id = await makeService("silent", silent.url, { timeout_ms: 300 });
    await rest("POST", "/call", { uri: `api://${id}/get`, arguments: { order: "o3" } });
    await explains(page, id, "TIMEOUT", "call");
    await expect(page.getByRole("region", { name: "Request" })).toContainText("/x?order=o3");
    silent.stop();
  });

  /** UI-4: one that was turned away before anything was sent. */
  test("a refused call says what to give", async ({ page }) => {
    const id = await makeService("refused", "http://127.0.0.1:9");
    await rest("POST", "/call", { uri: `api://${id}/get`, arguments: {} }).catch(() => undefined);
    await explains(page, id, "VALIDATION_FAILED", "bind");
    await expect(page.getByRole("region", { name: "Cause" })).toContainText("order");
    await expect(page.getByRole("region", { name: "Raw answer" })).toContainText("Nothing was sent");
  });
});

/** A service with one tool that wants an order. */
async function makeService(name: string, base_url: string, more: object = {}): Promise<string> {
  const id = `${name}${Date.now()}`;
  const parameters = [{ name: "order", position: "query", required: true }];
  const config = { base_url, retry: { max_attempts: 1 }, ...more };
  await rest("POST", "/services", { type: "api", id, config, tools: [{ id: "get", endpoint: "/x", parameters }] });
  return id;
}

/** Two clicks: Home, the failure; then the cause with code and advice, and the step that failed. */
async function explains(page: Page, id: string, code: string, step: string): Promise<void> {
  await page.goto(url());
  const failures = page.getByRole("list", { name: "Recent failures" });
  await failures
    .getByRole("link", { name: `${id}__get` })
    .first()
    .click();
  await expect(page.getByRole("region", { name: "Cause" })).toContainText(code);
  const steps = page.getByRole("region", { name: "Steps" });
  await expect(steps.getByRole("row").filter({ hasText: step }).filter({ hasText: "failed" })).toHaveCount(1);
  await expect(page.getByRole("region", { name: "Raw answer" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Open service" })).toBeVisible();
}

/** The official client, given what was copied as its settings: it says hello, lists and calls. */
async function callThroughDoor(snippet: string, tool: string): Promise<void> {
  const folder = process.env.MCP_TEST_SERVERS;
  expect(folder, "run with scripts/mcp-servers run CMD").toBeTruthy();
  const [server] = Object.values(JSON.parse(snippet).mcpServers as Record<string, Remote>);
  const load = createRequire(`${folder}/node_modules/`);
  const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const requestInit = { headers: server?.headers };
  const client = new Client({ name: "e2e", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(server?.url ?? ""), { requestInit }));
  const { tools } = await client.listTools();
  expect(tools.map((one: { name: string }) => one.name)).toEqual([tool]);
  const answer = await client.callTool({ name: tool, arguments: { query: "[].id" } });
  expect(JSON.stringify(answer)).toContain("o1");
  await client.close();
}

type Remote = { url: string; headers?: Record<string, string> };
