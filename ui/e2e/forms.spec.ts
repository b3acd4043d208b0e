// UI-7: a form for every type of service and for a hundred real tools; what goes in comes out.
import { readFileSync } from "node:fs";
import { expect, rest, signIn, test, url } from "./base";

type Schema = Record<string, unknown>;
type Type = { type: string; title: string; settings_schema: Schema };
type Tool = { uri: string; name: string; inputSchema?: Schema; input_schema?: Schema };

const TOOLS = 100;

test.beforeEach(({ page }) => signIn(page));

test("every type of service has a form of its settings", async ({ page }) => {
  const { items } = await rest<{ items: Type[] }>("GET", "/service-types");
  expect(items.length).toBeGreaterThan(8);
  await page.goto(`${url()}/ui/services/new`);
  for (const { title, settings_schema: schema } of items) {
    await page.getByRole("radio", { name: title, exact: true }).check();
    const properties = Object.values((schema.properties ?? {}) as Record<string, Schema>);
    for (const property of properties) {
      const hints = (property["x-ui"] ?? {}) as { when?: object; alias?: string; advanced?: boolean };
      if (hints.when || hints.alias || hints.advanced) continue;
      const named = page.getByText(String(property.title), { exact: true }).filter({ visible: true });
      await expect(named.first(), `${title}: ${property.title}`).toBeVisible();
    }
    await expect(page.getByRole("button", { name: "Save" })).toBeVisible();
  }
});

/** A value with everything that the schema names, and something that it does not. */
function sampleOf(schema: unknown, root: Schema, depth = 0): unknown {
  if (!schema || typeof schema !== "object" || depth > 6) return "any";
  const { $ref, anyOf, oneOf, allOf, enum: choices, properties, items, type } = schema as Record<string, never>;
  if ($ref) return sampleOf(at(root, $ref), root, depth + 1);
  const variants = (anyOf ?? oneOf ?? allOf) as Schema[] | undefined;
  if (variants)
    return sampleOf(
      variants.find((variant) => variant.type !== "null"),
      root,
      depth + 1,
    );
  if (choices) return (choices as unknown[]).find((choice) => choice !== null);
  const kind = Array.isArray(type) ? (type as string[]).find((one) => one !== "null") : type;
  if (kind === "integer") return 3;
  if (kind === "number") return 1.5;
  if (kind === "boolean") return true;
  if (kind === "array") return [sampleOf(items, root, depth + 1)];
  if (kind === "object" || properties) {
    const known = Object.entries((properties ?? {}) as Record<string, unknown>);
    return Object.fromEntries(known.map(([key, inner]) => [key, sampleOf(inner, root, depth + 1)]));
  }
  return kind === "string" ? "text" : { any: [1, null, "x"] };
}

function at(root: Schema, ref: string): unknown {
  const steps = ref.replace(/^#\//, "").split("/");
  return steps.reduce<unknown>((value, step) => (value as Schema)?.[step], root);
}

test("forms of a hundred real tools lose nothing", async ({ page }) => {
  test.setTimeout(180_000);
  const id = `rest${Date.now()}`;
  const document = JSON.parse(readFileSync("../docs/reference/openapi.json", "utf8"));
  const config = { retry: { max_attempts: 1 }, auth_config: { token: "any" } };
  const base_url = "http://127.0.0.1:9";
  await rest("POST", "/services/api/import", { document, id, base_url, config, mode: "create" });
  const listed = await rest<{ items: Tool[] }>("GET", `/services/api/${id}/tools?limit=500`);
  expect(listed.items.length).toBeGreaterThanOrEqual(TOOLS);
  await page.goto(`${url()}/ui/try`);
  const form = page.getByRole("form", { name: "Arguments" });
  for (const tool of listed.items.slice(0, TOOLS)) {
    const schema = tool.inputSchema ?? tool.input_schema ?? {};
    const sample = { ...(sampleOf(schema, schema) as object), not_in_the_schema: { deep: [1, null, "x"] } };
    const search = new URLSearchParams({ uri: tool.uri, args: JSON.stringify(sample) });
    await page.evaluate((to) => history.pushState(null, "", to), `/ui/try?${search}`);
    await expect(page.getByRole("combobox", { name: "Tool" })).toHaveValue(tool.name);
    await expect(form.locator('[aria-busy="true"]')).toHaveCount(0);
    const [sent] = await Promise.all([
      page.waitForRequest((request) => request.url().includes("/api/v1/call")),
      page.getByRole("button", { name: "Run" }).click(),
    ]);
    expect(sent.postDataJSON().arguments, tool.name).toEqual(sample);
  }
});

/** What is typed into a field is all that changes. */
test("a field changes its own value alone", async ({ page }) => {
  const id = `fields${Date.now()}`;
  const parameters = [
    { name: "city", position: "query", required: true },
    { name: "days", position: "query", parameter_type: "Integer" },
  ];
  const config = { base_url: "http://127.0.0.1:9", retry: { max_attempts: 1 } };
  const tools = [{ id: "get", endpoint: "/x", parameters }];
  await rest("POST", "/services", { type: "api", id, config, tools });
  const args = { city: "Bern", days: 3, extra: { kept: [true, null] } };
  const search = new URLSearchParams({ uri: `api://${id}/get`, args: JSON.stringify(args) });
  await page.goto(`${url()}/ui/try?${search}`);
  await page.getByRole("textbox", { name: "City" }).fill("Basel");
  await page.getByRole("tab", { name: "JSON" }).click();
  const json = page.getByRole("textbox", { name: "JSON" });
  await expect(json).toContainText("Basel");
  expect(JSON.parse((await json.textContent()) ?? "")).toEqual({ ...args, city: "Basel" });
  await json.focus();
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.type('"more": 7,');
  await page.getByRole("tab", { name: "Form" }).click();
  await expect(page.getByRole("textbox", { name: "City" })).toHaveValue("Basel");
  await page.getByRole("tab", { name: "JSON" }).click();
  expect(JSON.parse((await json.textContent()) ?? "")).toEqual({ more: 7, ...args, city: "Basel" });
});
