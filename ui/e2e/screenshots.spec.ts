// The pictures of README and guides: `npm run screenshots` makes them anew.
import { expect, rest, signIn, test, url } from "./base";
import { ABSENT, dress, LOOKS, makeWorld, sizes } from "./world";

const FOLDER = "../docs/images";

test.skip(!process.env.SCREENSHOTS, "only when asked for");

test("pictures for the guides", async ({ page }) => {
  const orders = Array.from({ length: 12 }, (_, at) => ({
    id: `o${at}`,
    status: at % 2 ? "open" : "closed",
    total: 10 + at,
  }));
  const table = await rest<{ id: string }>("POST", "/tables", { name: "shop", data: { orders } });
  await rest("POST", "/tools", { name: "query_orders", type: "query_data", table_id: table.id, json_path: "/orders" });
  const config = { base_url: "http://127.0.0.1:9", retry: { max_attempts: 1 } };
  const tools = [
    { id: "get_order", endpoint: "/orders/{id}", parameters: [{ name: "id", position: "path", required: true }] },
  ];
  await rest("POST", "/services", { type: "api", id: "crm", name: "Customer relations", config, tools });
  await rest("POST", "/mcp", { name: "shop agent" });
  for (let n = 0; n < 20; n++) {
    await rest("POST", "/call", { uri: "tool://query_orders/call", arguments: { query: "[?status=='open'].id" } });
    if (n % 5 === 0) await rest("POST", "/call", { uri: "api://crm/get_order", arguments: { id: `o${n}` } });
  }
  const nodes = [
    '  find: {exec: "tool://query_orders/call", args: {query: "[?status==\'open\']"}, next: look}',
    '  look: {exec: "api://crm/get_order", args: {id: "o1"}, fail: ask, next: done}',
    '  ask:  {approval: "Ship it anyway?", next: done}',
    "  done: {return: ok}",
  ];
  await rest("POST", "/flows", { id: "intake", source: `name: Order intake\nnodes:\n${nodes.join("\n")}\n` });
  await page.setViewportSize({ width: 1280, height: 760 });
  await signIn(page);
  await page.goto(url());
  await expect(page.getByRole("status", { name: "Live" })).toBeVisible({ timeout: 30_000 });
  const failures = page.getByRole("list", { name: "Recent failures" });
  await expect(failures.getByRole("link", { name: "crm__get_order" }).first()).toBeVisible();
  await page.screenshot({ path: `${FOLDER}/console-home.png` });
  await failures.getByRole("link", { name: "crm__get_order" }).first().click();
  await expect(page.getByRole("region", { name: "Steps" })).toContainText("failed");
  await page.screenshot({ path: `${FOLDER}/console-inspector.png` });
  await page.getByRole("link", { name: "Flows" }).click();
  await page.getByRole("link", { name: "Order intake" }).click();
  await expect(page.getByRole("group", { name: "Step done, not run" })).toBeVisible();
  await page.screenshot({ path: `${FOLDER}/console-flow.png` });
});

test.describe("every page", () => {
  // Some of the pages are of what is not there, and say so.
  test.use({ absent: ABSENT });

  /** One of every page, to be looked at: `PICTURES` names the folder. Two looks show every colour and every word. */
  for (const look of [LOOKS[0], LOOKS[1]]) {
    test(`pictures of every page: ${look.join(", ")}`, async ({ page }) => {
      const folder = process.env.PICTURES ?? "";
      test.skip(!folder, "only when asked for");
      test.setTimeout(1_200_000);
      const paths = await makeWorld(`pictures${Date.now()}`);
      await dress(page, look);
      await signIn(page);
      for (const [size, viewport] of Object.entries(sizes)) {
        await page.setViewportSize(viewport);
        for (const [at, path] of paths.entries()) {
          await page.goto(url() + path);
          await expect(page.getByRole("heading", { level: 1, includeHidden: true })).toBeVisible();
          await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
          const name = path.replace(/[^a-z?=]+/g, "-").replace(/[?=]/g, "_");
          const file = `${size}-${look.join("-")}-${String(at).padStart(2, "0")}${name}.png`;
          await page.screenshot({ path: `${folder}/${file}`, animations: "disabled" });
        }
      }
    });
  }
});
