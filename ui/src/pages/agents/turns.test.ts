// What an agent's stream becomes on the page.
import { expect, it } from "vitest";
import { parse } from "../../api/stream";
import { after, conversationOf, runOf, stopped, type Turn, turnsOf, withRecords } from "./turns";

const first: Turn = { from: "agent", text: "", calls: [] };

it("reads events as they come over the wire", () => {
  expect(parse('event: text\nid: 3\ndata: {"text":"It is"}')).toEqual({
    type: "text",
    id: "3",
    data: { text: "It is" },
  });
  expect(parse(": ping")).toBeNull();
});

it("joins texts and follows tool calls to their end", () => {
  const events = [
    { type: "step", data: { kind: "tool", name: "Clock__now", arguments: { zone: "UTC" } } },
    { type: "step", data: { kind: "tool", name: "Clock__now", result: "12:00" } },
    { type: "text", data: { text: "It is " } },
    { type: "text", data: { text: "noon." } },
  ];
  const turn = events.reduce(after, first);
  expect(turn.text).toBe("It is noon.");
  expect(turn.calls).toEqual([{ name: "Clock__now", state: "succeeded", arguments: { zone: "UTC" }, result: "12:00" }]);
});

it("tells what each call was told, from the record", () => {
  const called = { type: "step", data: { kind: "tool", name: "Clock__now", step: 1 } };
  const records = [
    { id: "1", tool: "Clock__now", status: "ok", arguments: { zone: "UTC" } },
    { id: "2", tool: "Clock__now", status: "error", arguments: { zone: "?" } },
  ];
  const { calls } = withRecords(after(after(first, called), called), records);
  expect(calls.map(({ state, record }) => [state, record])).toEqual([
    ["succeeded", "1"],
    ["failed", "2"],
  ]);
  expect(calls[1]?.arguments).toEqual({ zone: "?" });
  expect(runOf({ type: "run", data: { run: "r1" } })).toBe("r1");
});

it("shows two calls of one tool as two", () => {
  const called = { type: "step", data: { kind: "tool", name: "Clock__now", step: 1 } };
  const turn = after(after(first, called), called);
  expect(turn.calls).toHaveLength(2);
  expect(after(turn, { type: "end", data: { content: [] } }).calls.map((call) => call.state)).toEqual([
    "succeeded",
    "succeeded",
  ]);
});

it("ends with the whole answer, or with what went wrong", () => {
  const end = {
    type: "end",
    data: { isError: false, structuredContent: { answer: "Done", conversation: "c1", state: "waiting" } },
  };
  expect(after(first, end)).toMatchObject({ text: "Done", waits: true });
  expect(conversationOf(end)).toBe("c1");
  const failed = { type: "end", data: { isError: true, content: [{ type: "text", text: "no model" }] } };
  expect(after(first, failed).error).toBe("no model");
});

it("shows a call that waits, and what becomes of it", () => {
  const waits = { type: "step", data: { kind: "approval", name: "Shop__all", path: "helper[0].0" } };
  const calls = { type: "step", data: { kind: "tool", name: "Shop__all", path: "helper[0].0" } };
  const end = { type: "end", data: { structuredContent: { answer: "Done", state: "succeeded" } } };
  const waiting = after(first, waits);
  expect(waiting.calls).toMatchObject([{ name: "Shop__all", state: "waiting" }]);
  expect(after(waiting, calls).calls).toMatchObject([{ name: "Shop__all", state: "running" }]);
  expect(after(after(waiting, calls), end)).toMatchObject({
    text: "Done",
    waits: false,
    calls: [{ state: "succeeded" }],
  });
  // Nobody approved it.
  expect(after(waiting, end).calls).toMatchObject([{ state: "refused" }]);
});

it("ends what went on when somebody stops it", () => {
  const called = { type: "step", data: { kind: "tool", name: "Clock__now" } };
  const answered = { type: "step", data: { kind: "tool", name: "Clock__now", result: "12:00" } };
  const turn = [called, answered, called].reduce(after, first);
  expect(stopped(turn).calls.map(({ state }) => state)).toEqual(["succeeded", "cancelled"]);
  expect(stopped(turn).isStopped).toBe(true);
});

it("shows what was called when it is read again", () => {
  const called = { id: "c1", tool: "crm__echo", status: "ok", arguments: { text: "a" }, node: "helper[1].0" };
  const asked = { id: "c2", tool: "helper__ask", status: "ok", node: null };
  const [mine, theirs] = turnsOf([{ prompt: "echo", answer: "done", calls: [called, asked] }]);
  expect(mine).toEqual({ from: "me", text: "echo", calls: [] });
  expect(theirs?.calls).toEqual([{ name: "crm__echo", state: "succeeded", arguments: { text: "a" }, record: "c1" }]);
});
