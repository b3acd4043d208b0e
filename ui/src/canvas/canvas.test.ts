// UI-6: edits on the canvas keep comments and order, and broken YAML is never lost.
import { describe, expect, it } from "vitest";
import { begin, push, redo, undo } from "./history";
import { ends, layOut, SIZE } from "./layout";
import { addStep, connect, parse, removeStep, setKey } from "./source";

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
    expect(graph?.hasInputs).toBe(true);
  });

  it("marks the line of what is no YAML", () => {
    const { graph, marks } = parse("name: a\nnodes:\n  x: {exec: [\n");
    expect(graph).toBeNull();
    expect(marks[0]?.line).toBeGreaterThan(1);
  });

  it("places every step somewhere else", () => {
    const { graph } = parse(SOURCE);
    if (!graph) throw new Error("it is YAML");
    const at = Object.values(layOut(graph, {}).positions).map(({ x, y }) => `${x} ${y}`);
    expect(new Set(at).size).toBe(graph.steps.length);
    expect(layOut(graph, { ok: { x: 1, y: 2 } }).positions.ok).toEqual({ x: 1, y: 2 });
  });

  it("leads long edges past the steps between their ends", () => {
    const { graph } = parse("nodes:\n  a: {next: [b, d]}\n  b: {next: c}\n  c: {next: d}\n  d: {return: ok}\n");
    if (!graph) throw new Error("it is YAML");
    const { positions, lanes } = layOut(graph, {});
    const long = lanes[ends({ from: "a", to: "d" })] ?? [];
    expect(long).toHaveLength(2);
    for (const lane of long) {
      for (const { x, y } of Object.values(positions)) {
        const isOver = Math.abs(x + SIZE.width / 2 - lane.x) < SIZE.width / 2;
        expect(isOver && lane.y >= y && lane.y <= y + SIZE.height).toBe(false);
      }
    }
    expect(lanes[ends({ from: "a", to: "b" })]).toEqual([]);
    expect(layOut(graph, { a: { x: 0, y: 0 } }).lanes[ends({ from: "a", to: "d" })]).toBeUndefined();
  });
});

describe("edits", () => {
  it("keep comments, order and everything that was not touched", () => {
    const { text, id } = addStep(SOURCE, "mail://alerts/send");
    expect(id).toBe("send");
    const next = connect(setKey(text, "send", "args", { to: "a@b.c" }), "ok", "send");
    for (const comment of ["# The intake of orders", "# shown in lists", "# first of all", "# a branch"]) {
      expect(next).toContain(comment);
    }
    expect(parse(next).graph?.steps.map((step) => step.id)).toEqual(["order", "lost", "big", "ok", "ship", "send"]);
    expect(next).toContain('order: {exec: "api://shop/order?timeout=5000", retry: 3, fail: lost, next: big}');
    expect(next).toContain("next: [ship, send]");
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
