// A burst of calls between two silent minutes is seen.
import { expect, it } from "vitest";
import { alone } from "./alone";

it("finds the values that have none beside them", () => {
  expect(alone([null, 4, null, 5, 6, null, 0])).toEqual([1, 6]);
  expect(alone([7])).toEqual([0]);
  expect(alone([1, 2, 3])).toEqual([]);
  expect(alone([undefined, null])).toEqual([]);
});
