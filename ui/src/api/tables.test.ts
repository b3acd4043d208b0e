// Rows of a table are picked by JMESPath, whatever their keys are.
import { expect, it } from "vitest";
import { pickOf } from "./tables";

it("picks a page of a list by its numbers, and of an object by its names", () => {
  expect(pickOf("array", ["100", "101", "102"])).toBe("[100:103]");
  expect(pickOf("object", ["a", 'say "b"', "c.d", "数"])).toBe('["a", "say \\"b\\"", "c.d", "数"]');
});
