// A list that is longer than a page is there to its end.
import { expect, it } from "vitest";
import { everything } from "./everything";

it("asks for page after page until it has all", async () => {
  const stored = Array.from({ length: 2345 }, (_, at) => at);
  const asked: number[] = [];
  const found = await everything(async ({ page, limit }) => {
    asked.push(page);
    return { items: stored.slice((page - 1) * limit, page * limit), total: stored.length };
  });
  expect(found).toEqual(stored);
  expect(asked).toEqual([1, 2, 3]);
});

it("ends where a page is empty, whatever the total says", async () => {
  expect(await everything(async ({ page }) => ({ items: page === 1 ? ["a"] : [], total: 5000 }))).toEqual(["a"]);
});
