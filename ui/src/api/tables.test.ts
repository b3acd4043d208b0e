// Rows of a table are picked by JMESPath, whatever their keys are.
import { expect, it } from "vitest";
import { groupsOf, pickOf } from "./tables";

it("picks a page of a list by its numbers, and of an object by its names", () => {
  expect(pickOf("array", ["100", "101", "102"])).toBe("[100:103]");
  expect(pickOf("object", ["a", 'say "b"', "c.d", "数"])).toBe('["a", "say \\"b\\"", "c.d", "数"]');
});

/** A query has 4096 bytes, and a page of a table a hundred fields. */
it("asks for fields in as many queries as their names need", () => {
  const keys = Array.from({ length: 100 }, (_, at) => `${at}${"数".repeat(40)}`);
  const groups = groupsOf(["a", "x".repeat(5000), ...keys]);
  expect(groups.flat()).toEqual(["a", ...keys]);
  expect(groups.length).toBe(4);
  for (const group of groups)
    expect(new TextEncoder().encode(pickOf("object", group)).length).toBeLessThanOrEqual(4096);
  expect(groupsOf([])).toEqual([]);
});
