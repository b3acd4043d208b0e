// The ways in: the link of the first start, the command `open`, and a server that has no console.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Page } from "@playwright/test";
import { ADMIN, expect, test } from "./base";
import { binary, start } from "./server";

async function callsExample(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Try an example" }).click();
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByRole("region", { name: "Answer", exact: true })).toContainText("Ada");
  expect(page.url()).not.toContain("code=");
}

/** UI-1: J1 on a fresh home, by the link as it was printed, within its bar. */
test("the printed link leads to an answer in three clicks, once", async ({ page, browser }) => {
  const fresh = await start({}, { withoutToken: true });
  const refused: string[] = [];
  page.on("response", (response) => {
    if (response.status() >= 400) refused.push(response.url());
  });
  try {
    const link = /https?:\S+#code=\S+/.exec(fresh.said())?.[0] ?? "";
    const begun = Date.now();
    const there = new URL(link);
    await page.goto(`${fresh.url}/${there.hash}`);
    await callsExample(page);
    expect(refused).toEqual([]);
    expect(Date.now() - begun).toBeLessThan(60_000);
    const other = await browser.newPage();
    await other.goto(`${fresh.url}/${there.hash}`);
    await expect(other.getByRole("alert")).toContainText("mcp-all-in-one open");
    await other.close();
  } finally {
    await fresh.stop();
  }
});

/** UI-1: whoever comes later gets a link of their own. */
test("the link of the command open signs in", async ({ page }) => {
  const fresh = await start();
  try {
    const args = ["open", "--no-browser", "--server", fresh.api, "--token", ADMIN];
    const { stdout } = await promisify(execFile)(binary(), args);
    await page.goto(`${fresh.url}/${new URL(stdout.trim()).hash}`);
    await expect(page.getByRole("heading", { level: 1, name: "Home" })).toBeVisible();
    await callsExample(page);
  } finally {
    await fresh.stop();
  }
});

/** UI-20: a server that is started again is found again, and nothing typed is lost by it. */
test("a form outlives a server that is restarted", async ({ page }) => {
  const fresh = await start();
  try {
    await page.request.post(`${fresh.url}/api/v1/auth/session`, {
      data: { key: ADMIN },
      headers: { "Sec-Fetch-Site": "same-origin", Origin: fresh.url },
    });
    await page.goto(`${fresh.url}/ui/services/new`);
    await page.getByRole("radio", { name: "HTTP API" }).check();
    await page.getByRole("textbox", { name: "Id", exact: true }).fill("restarted");
    await page.getByRole("textbox", { name: "Base URL" }).fill("http://127.0.0.1:9");
    await fresh.halt();
    await expect(page.getByRole("status", { name: "Reconnecting" })).toBeVisible();
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("alert").first()).toBeVisible();
    await fresh.resume();
    await expect(page.getByRole("status", { name: "Live" })).toBeVisible({ timeout: 30_000 });
    await expect(page.getByRole("textbox", { name: "Base URL" })).toHaveValue("http://127.0.0.1:9");
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("heading", { level: 1, name: "restarted" })).toBeVisible();
  } finally {
    await fresh.stop();
  }
});
