// UI-6: edits on the canvas keep comments and order, and broken YAML is never lost.
import { describe, expect, it } from "vitest";
import { numberOf, writeJson } from "../api/json";
import { begin, push, redo, undo } from "./history";
import { addStep, connect, disconnect, parse, removeStep, setArgs, setNext } from "./source";

const SOURCE = `# The intake of orders
name: Order intake   # shown in lists
inputs: {orderId: string}
nodes:
  # first of all
  order: {exec: "api://shop/order?timeout=5000", retry: 3, fail: lost, next: big}
  lost:  {throw: {code: NO_ORDER, message: "gone"}}
  big:   {when: order.total > 1000, then: ok, else: ship} # a branch
  ok:    {approval: {title: "Ship?"}, next: ship}
  ship:  {each: order.lines => line, nodes: {send: {exec: "mq://wms/ship"}}}
output: {id: "\${orderId}"}
`;

describe("drawing", () => {
  it("shows steps, kinds and edges", () => {
    const { graph } = parse(SOURCE);
    expect(graph?.steps.map((step) => `${step.id} ${step.kind}`)).toEqual([
      "order tool",
      "lost end",
      "big condition",
      "ok approval",
      "ship each",
    ]);
    expect(graph?.edges).toContainEqual({ from: "order", to: "lost", kind: "fail" });
    expect(graph?.edges).toContainEqual({ from: "big", to: "ship", kind: "else" });
    expect(graph?.inputs).toMatchObject({ type: "object" });
  });

  it("marks the line of what is no YAML", () => {
    const { graph, marks } = parse("name: a\nnodes:\n  x: {exec: [\n");
    expect(graph).toBeNull();
    expect(marks[0]?.line).toBeGreaterThan(1);
  });

  it("draws what can be read of a text that is broken further down", () => {
    const { graph, partial } = parse("nodes:\n  a: {with: 1, next: b}\n  b: {with: 2}\n  c: {exec: [");
    expect(graph).toBeNull();
    expect(partial?.steps.map(({ id }) => id).slice(0, 2)).toEqual(["a", "b"]);
    expect(partial?.edges).toContainEqual({ from: "a", to: "b", kind: "next" });
  });
});

describe("edits", () => {
  it("keep comments, order and everything that was not touched", () => {
    const { text, id } = addStep(SOURCE, "mail://alerts/send");
    expect(id).toBe("send");
    const next = connect(setArgs(text, "send", { to: "a@b.c" }), "ok", "send");
    for (const comment of ["# The intake of orders", "# shown in lists", "# first of all", "# a branch"]) {
      expect(next).toContain(comment);
    }
    expect(parse(next).graph?.steps.map((step) => step.id)).toEqual(["order", "lost", "big", "ok", "ship", "send"]);
    expect(next).toContain('order: {exec: "api://shop/order?timeout=5000", retry: 3, fail: lost, next: big}');
    expect(next).toContain("next: [ship, send]");
  });

  it("keep the line ends of whoever wrote it on Windows", () => {
    const next = addStep(SOURCE.replaceAll("\n", "\r\n"), "mail://alerts/send").text;
    expect(next.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
    expect(next).toContain("# a branch\r\n");
  });

  it("give new steps names of their own", () => {
    const first = addStep("name: a\nnodes: {}\n", "tool://query_orders/call");
    const second = addStep(first.text, "tool://query_orders/call");
    expect([first.id, second.id]).toEqual(["query_orders", "query_orders_2"]);
    expect(connect(second.text, first.id, first.id)).toBe(second.text);
  });

  it("take a step away with what led to it", () => {
    const next = removeStep(SOURCE, "ship");
    const { graph } = parse(next);
    expect(graph?.steps.map((step) => step.id)).not.toContain("ship");
    expect(graph?.edges.some((edge) => edge.to === "ship")).toBe(false);
    expect(next).toContain("# a branch");
  });

  it("change one argument and keep the words between the others (UI-6)", () => {
    const source = `nodes:
  a:
    exec: api://x/y
    args:
      # who it is for
      to: "a@b.c" # quoted
      lines:
        - {id: 1} # the first
        - {id: 2}
      1: kept
      gone: true
    next: # both of them
      - b # the quick one
      - c # the slow one
  b: {with: 1}
  c: {with: 2}
`;
    const args = { to: "z@b.c", lines: [{ id: 1 }, { id: 3 }, { id: 4 }], 1: "kept", more: null };
    const next = setArgs(source, "a", args);
    for (const comment of ["# who it is for", "# quoted", "# the first"]) expect(next).toContain(comment);
    expect(next).toContain('to: "z@b.c"');
    expect(next).toContain("1: kept");
    expect(next).not.toContain("gone");
    expect(parse(next).graph?.steps[0]?.args).toEqual(args);
    const other = setNext(next, "a", 1, undefined);
    expect(other).toContain("# the quick one");
    expect(parse(other).graph?.steps[0]?.next).toEqual(["b"]);
    expect(parse(setNext(next, "a", 0, undefined)).graph?.steps[0]?.next).toEqual(["c"]);
    expect(setNext(next, "a", 0, undefined)).toContain("# the slow one");
  });

  it("change one of several next steps, however they are written (UI-6)", () => {
    const nodes = "  b: {with: 1}\n  c: {with: 2}\n  d: {with: 3}\n";
    const next = (text: string) => parse(text).graph?.steps[0]?.next;
    const listed = `nodes:\n  a: {next: [b, c]}\n${nodes}`;
    expect(next(setNext(listed, "a", 0, "d"))).toEqual(["d", "c"]);
    expect(next(setNext(listed, "a", 2, "d"))).toEqual(["b", "c", "d"]);
    expect(setNext(listed, "a", 0, "c")).toContain("next: [b, c]");
    const commas = `nodes:\n  a: {next: "b, c"}\n${nodes}`;
    expect(setNext(commas, "a", 2, "d")).toContain('"b, c, d"');
    expect(next(setNext(commas, "a", 1, undefined))).toEqual(["b"]);
    const one = `nodes:\n  a: {next: b} # kept\n${nodes}`;
    expect(setNext(one, "a", 0, "c")).toContain("{next: c} # kept");
    expect(next(setNext(one, "a", 0, undefined))).toEqual([]);
  });

  it("leave no edge to a step that is gone (UI-6)", () => {
    const source = `nodes:
  a:
    case: # by size
      - {when: x > 1, then: big} # large
      - {when: x > 0, then: [small, big]}
    else: "big, small"
  big: {with: 1}
  small: {with: 2, fail: big}
`;
    const { graph } = parse(removeStep(source, "big"));
    expect(graph?.edges).toEqual([
      { from: "a", to: "small", kind: "else" },
      { from: "a", to: "small", kind: "case" },
    ]);
    const fewer = disconnect(source, { from: "a", to: "small", kind: "case" });
    expect(fewer).toContain("# large");
    expect(parse(fewer).graph?.edges).not.toContainEqual({ from: "a", to: "small", kind: "case" });
    expect(parse(fewer).graph?.edges).toContainEqual({ from: "a", to: "small", kind: "else" });
    expect(parse(disconnect(source, { from: "small", to: "big", kind: "fail" })).graph?.edges).not.toContainEqual({
      from: "small",
      to: "big",
      kind: "fail",
    });
  });

  it("leave broken text alone", () => {
    expect(addStep("a: [", "api://x/y").text).toBe("a: [");
  });
});

describe("undo", () => {
  it("goes back and forth, letters typed together at once", () => {
    let history = push(begin("a"), "ab", 1000, true);
    history = push(history, "abc", 1100, true);
    history = push(history, "canvas");
    expect(undo(history).now).toBe("abc");
    expect(undo(undo(history)).now).toBe("a");
    expect(redo(undo(undo(history))).now).toBe("abc");
    expect(undo(begin("a")).now).toBe("a");
  });
});

/** UI-7: inputs become fields, however they are written. */
it("reads the types of inputs", () => {
  const source = `inputs:
  orderId: int
  note: "string? = 'x'"
  lines: "Line[]"
  tags: "string[]"
  top: {type: integer, maximum: 50, default: 10}
  pin: {type: string, secret: true}
  to: {city: text, zip: int?}
nodes: {}
`;
  expect(parse(source).graph?.inputs).toMatchObject({
    required: ["orderId", "lines", "tags", "pin", "to"],
    properties: {
      orderId: { type: "integer" },
      note: { type: "string" },
      lines: { type: "array", items: {} },
      tags: { type: "array", items: { type: "string" } },
      top: { type: "integer", maximum: 50 },
      pin: { writeOnly: true },
      to: { type: "object", required: ["city"], properties: { zip: { type: "integer" } } },
    },
  });
});

describe("numbers (UI-6, UI-7)", () => {
  const NUMBERS = `nodes:
  a: {exec: "api://shop/all", args: {id: x, n: 9007199254740993, f: 1.0, e: 1e400, h: 0x1F, p: +5, big: 0x20000000000001}}
  b: {exec: "api://shop/all", retry: 12345678901234567890, "1": {at: .50, 1.0: -0}} # 1.0
`;

  it("are written as their author wrote them, where nobody touched them", () => {
    const args = parse(NUMBERS).graph?.steps[0]?.args as object;
    expect(setArgs(NUMBERS, "a", { ...args, id: "y" })).toBe(NUMBERS.replace("id: x", "id: y"));
    expect(setNext(NUMBERS, "b", 0, "a")).toBe(NUMBERS.replace("-0}}", "-0}, next: a}"));
  });

  it("are JSON's in arguments, as exact as they were written", () => {
    const args = parse(NUMBERS).graph?.steps[0]?.args;
    expect(writeJson(args)).toBe(
      '{"id":"x","n":9007199254740993,"f":1.0,"e":1e400,"h":31,"p":5,"big":9007199254740993}',
    );
  });

  it("are set as they were typed", () => {
    const args = { ...(parse(NUMBERS).graph?.steps[0]?.args as object), n: numberOf("9007199254740995"), f: 2 };
    const expected = NUMBERS.replace("9007199254740993", "9007199254740995").replace("f: 1.0", "f: 2");
    expect(setArgs(NUMBERS, "a", args)).toBe(expected);
    expect(setArgs("nodes: { a: { exec: x } }\n", "a", { deep: [{ n: numberOf("1.50") }] })).toBe(
      "nodes: { a: { exec: x, args: { deep: [ { n: 1.50 } ] } } }\n",
    );
  });
});

/** UI-7: a flow may stand below a word of its own, with what it is given. */
it("reads the inputs of a flow that stands below `flow`", () => {
  const source = "flow:\n  inputs: {id: int}\n  nodes: {a: {with: 1}}\n";
  expect(parse(source).graph?.inputs).toMatchObject({ properties: { id: { type: "integer" } } });
});
