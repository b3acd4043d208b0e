// UI-18: a role is shown what it may do. What it is not shown is refused by the server, too; here nobody gets so far.
import { expect, rest, signIn, test, url } from "./base";

type Made = { id: string };
const mark = `roles${Date.now()}`;
const LISTS = ["services", "tools", "tables", "doors", "flows", "agents", "calls", "metrics", "settings", "approvals"];
/** Pages of what everybody may see, and of what those who only call may not. */
const shared = ["/", ...LISTS.map((list) => `/ui/${list}`), `/ui/flows/${mark}`];
const ofAdmin: string[] = [];
/** Whoever may call a tool, and whoever only looks, sees what it takes. */
const tries: string[] = [];

test.beforeAll(async () => {
  const table = await rest<Made>("POST", "/tables", { name: mark, data: { orders: [{ id: "o1" }] } });
  const query = { name: `query_${mark}`, type: "query_data", table_id: table.id, json_path: "/orders" };
  const tool = await rest<Made>("POST", "/tools", query);
  const door = await rest<Made>("POST", "/mcp", { name: mark });
  await rest("POST", `/mcp/id/${door.id}/bindings`, { bindings: [{ tool_id: tool.id }] });
  const config = { base_url: "http://127.0.0.1:9" };
  await rest("POST", "/services", {
    type: "api",
    id: mark,
    config,
    tools: [{ id: "get", endpoint: "/x", parameters: [{ name: "query", position: "query" }] }],
  });
  await rest("POST", "/flows", { id: mark, source: "nodes: {a: {with: 1}}\n" });
  await rest("POST", `/flows/${mark}/publish`, {});
  shared.push(`/ui/try?uri=flow://${mark}`);
  tries.push(`/ui/try?uri=tool://query_${mark}/call`, `/ui/try?uri=api://${mark}/get`);
  const service = `/ui/services/api/${mark}`;
  ofAdmin.push(service, `${service}?tab=settings`, `${service}/tools/get`, `/ui/tools/${tool.id}`);
  ofAdmin.push(`/ui/tables/${table.id}`, `/ui/tables/${table.id}?tab=versions`, `/ui/doors/${door.id}`);
  ofAdmin.push(`/ui/flows/${mark}?tab=versions`);
});

/** Words of what changes something, or runs it. */
const CHANGES = [
  ...["Add service", "Add tool", "Add table", "Add door", "Add flow", "Add agent", "Add step", "Upload", "Make a tool"],
  ...["Save", "Delete", "Publish", "Run", "Test", "Rotate key", "Bind tools", "Roll back", "Approve", "Reject"],
  ...["Bind to a door"],
];
const MAKES = ["Add tool", "Add table", "Add door", "Upload", "Run"];

const ROLES = [
  { who: "viewer", key: { role: "viewer" }, offered: [], sees: true, looksAfter: false },
  {
    who: "caller that only calls",
    key: { role: "caller", scopes: ["call", "read"] },
    offered: ["Run"],
    sees: false,
    looksAfter: false,
  },
  { who: "caller", key: { role: "caller" }, offered: MAKES, sees: false, looksAfter: false },
  { who: "manager", key: { role: "manager" }, offered: null, sees: true, looksAfter: true },
];

for (const { who, key: wanted, offered, sees, looksAfter } of ROLES) {
  test(`a ${who} is offered what a ${who} may do`, async ({ page }) => {
    test.setTimeout(120_000);
    const { key } = await rest<{ key: string }>("POST", "/keys", { name: `${who} ${mark}`, ...wanted });
    const refused: string[] = [];
    page.on("response", (response) => {
      if ([403, 404].includes(response.status())) refused.push(`${page.url()}: ${response.url()}`);
    });
    await signIn(page, key);
    const seen = new Set<string>();
    for (const path of sees ? [...shared, ...ofAdmin] : shared) {
      await page.goto(url() + path);
      await expect(page.getByRole("heading", { level: 1 }), path).toBeVisible();
      await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
      const main = page.getByRole("main");
      for (const kind of ["button", "link"] as const) {
        for (const name of await main.getByRole(kind).allTextContents()) seen.add(name.trim());
      }
    }
    for (const path of tries) {
      await page.goto(url() + path);
      const form = page.getByRole("form", { name: "Arguments" });
      // Viewers call nothing, and the server tells them of a Tool's arguments as little.
      const isTold = who !== "viewer" || path.includes("api://");
      if (isTold) await expect.soft(form.getByRole("textbox", { name: "Query" }), path).toBeVisible();
      else await expect.soft(form).toContainText("those who may call it");
    }
    await page.goto(`${url()}/ui/calls`);
    await expect.soft(page.getByRole("button", { name: "Pause" })).toBeVisible();
    await expect.soft(page.getByRole("link", { name: "Export" })).toHaveCount(looksAfter ? 1 : 0);
    const found = CHANGES.filter((word) => seen.has(word)).sort();
    expect.soft(refused).toEqual([]);
    // Other tests may have made an agent.
    expect.soft(seen.has("Send") && !seen.has("Run")).toBe(false);
    if (offered) expect.soft(found).toEqual([...offered].sort());
    else expect.soft(found).toEqual(expect.arrayContaining([...MAKES, "Add flow", "Add service", "Publish", "Save"]));
    await expect.soft(page.getByRole("link", { name: "People" })).toHaveCount(looksAfter ? 1 : 0);
    await expect.soft(page.getByRole("combobox", { name: "Tenant" })).toHaveCount(0);
  });
}
