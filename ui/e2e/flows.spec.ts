// J5: a flow is made, run and published by the keyboard alone.
import type { Page } from "@playwright/test";
import { expect, rest, signIn, test, url } from "./base";

test.beforeEach(({ page }) => signIn(page));

async function press(page: Page, role: "button" | "link" | "tab", name: string): Promise<void> {
  await page.getByRole(role, { name, exact: true }).first().focus();
  await page.keyboard.press("Enter");
}

async function addStep(page: Page, tool: string): Promise<void> {
  await press(page, "button", "Add step");
  await page.keyboard.type(tool);
  await expect(page.getByRole("option", { name: new RegExp(tool) }).first()).toBeVisible();
  await page.keyboard.press("Enter");
}

/** UI-5 and UI-6: by keys alone; the YAML says what the canvas shows, and broken YAML loses nothing. */
test("a flow is drawn, run and published by keys alone", async ({ page }) => {
  const mark = `f${Date.now()}`;
  const table = await rest<{ id: string }>("POST", "/tables", { name: mark, data: { orders: [{ id: "o1" }] } });
  await rest("POST", "/tools", { name: `query_${mark}`, type: "query_data", table_id: table.id, json_path: "/orders" });
  const config = { base_url: "http://127.0.0.1:9", retry: { max_attempts: 1 } };
  await rest("POST", "/services", { type: "api", id: mark, config, tools: [{ id: "gone", endpoint: "/x" }] });

  await page.goto(`${url()}/ui/flows`);
  await press(page, "link", "Add flow");
  await addStep(page, `query_${mark}`);
  await addStep(page, `${mark}__gone`);
  await page.getByRole("group", { name: `Step query_${mark}, not run` }).focus();
  await page.getByRole("combobox", { name: "Next" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("textbox", { name: "Query" }).focus();
  await page.keyboard.type("[].id");
  await press(page, "tab", "YAML");
  const yaml = page.getByRole("textbox", { name: "YAML" });
  await expect(yaml).toContainText("next: gone");
  await expect(yaml).toContainText("[].id");
  await yaml.focus();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("broken: [");
  await press(page, "tab", "Canvas");
  await expect(page.getByRole("group", { name: "Step gone, not run" })).toBeVisible();
  await press(page, "button", "Undo");
  await press(page, "button", "Run");
  await expect(page.getByRole("group", { name: `Step query_${mark}, succeeded` })).toBeVisible();
  const failed = page.getByRole("group", { name: "Step gone, failed" });
  await expect(failed).toBeVisible({ timeout: 20_000 });
  await failed.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("region", { name: "Cause" })).toContainText("UNAVAILABLE");
  await page.goBack();
  await press(page, "button", "Save");
  await expect(page.getByRole("status", { name: "Saved" })).toBeVisible();
  await press(page, "button", "Publish");
  await expect(page.getByRole("status", { name: "Published" })).toBeVisible();
});
