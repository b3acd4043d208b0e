// A run that is over has no step that goes on.
import { expect, it } from "vitest";
import { settled } from "./flows";

it("cuts off with a run what went on in it", () => {
  const run = { ended_at: "2026-01-01T00:00:09Z" };
  expect(settled({ state: "running" as const, ended_at: null }, run)).toEqual({
    state: "cancelled",
    ended_at: run.ended_at,
  });
  const failed = { state: "failed" as const, ended_at: "2026-01-01T00:00:01Z" };
  expect(settled(failed, run)).toBe(failed);
});
