// Every page, at both sizes, in both themes and languages: axe finds nothing, nothing goes sideways, no errors.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import { expect, signIn, test, url } from "./base";
import { ABSENT, dress, LOOKS, makeWorld, sizes } from "./world";

// Some of the pages are of what is not there, and say so.
test.use({ absent: ABSENT });

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Looks that have a part of the pages each. */
const OTHERS = 6;
let paths: string[] = [];

test.beforeAll(async () => {
  // Names of this worker alone: a worker that failed is followed by another one.
  paths = await makeWorld(`pages${Date.now()}`);
});

/** UI-14, UI-15 and UI-17, for whoever looks at every page. Two looks have all of it, the others a page in six each;
 * `EVERY_LOOK` is for all of it in all eight. */
for (const [size, viewport] of Object.entries(sizes)) {
  const own = size === "wide" ? LOOKS[0] : LOOKS[1];
  for (const [nth, look] of LOOKS.entries()) {
    const isWhole = process.env.EVERY_LOOK || look === own;
    test(`every page is right: ${size}, ${look.join(", ")}`, async ({ page }) => {
      test.setTimeout(600_000);
      await page.setViewportSize(viewport);
      await dress(page, look);
      const wrong: string[] = [];
      await page.goto(url());
      wrong.push(...(await wrongWith(page, "login")));
      await page.getByRole("tab").nth(1).click();
      wrong.push(...(await wrongWith(page, "login as a user")));
      await signIn(page);
      const first = size === "wide" || nth === 0 ? nth : nth + 2;
      for (const path of isWhole ? paths : paths.filter((_, at) => at % OTHERS === first)) {
        await page.goto(url() + path);
        wrong.push(...(await wrongWith(page, path)));
      }
      await page.keyboard.press("Control+k");
      await expect(page.getByRole("dialog").getByRole("option").first()).toBeVisible();
      wrong.push(...(await wrongWith(page, "palette")));
      expect(wrong).toEqual([]);
    });
  }
}

/** What axe finds, what goes sideways, and headings that are not one. */
async function wrongWith(page: Page, path: string): Promise<string[]> {
  await expect(page.getByRole("heading", { level: 1, includeHidden: true }), path).toBeVisible();
  await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
  await page.evaluate(axe);
  const found = await page
    .evaluate((rules) => (globalThis as unknown as Axe).axe.run({ runOnly: rules, resultTypes: ["violations"] }), RULES)
    .catch(String);
  const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  return [...described(path, found), ...(sideways > 0 ? [`${path}: ${sideways} px sideways`] : [])];
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
