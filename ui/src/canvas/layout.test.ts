// UI-6: where steps stand and edges pass, whatever the steps are called.
import { expect, it } from "vitest";
import { ends, layOut, SIZE } from "./layout";
import { parse } from "./source";

const SOURCE = `nodes:
  order: {exec: "api://shop/order", fail: lost, next: big}
  lost:  {throw: {code: NO_ORDER, message: "gone"}}
  big:   {when: order.total > 1000, then: ok, else: ship}
  ok:    {approval: {title: "Ship?"}, next: ship}
  ship:  {each: order.lines => line, nodes: {send: {exec: "mq://wms/ship"}}}
`;

it("places every step somewhere else", () => {
  const { graph } = parse(SOURCE);
  if (!graph) throw new Error("it is YAML");
  const at = [...layOut(graph, new Map()).positions.values()].map(({ x, y }) => `${x} ${y}`);
  expect(new Set(at).size).toBe(graph.steps.length);
  expect(layOut(graph, new Map([["ok", { x: 1, y: 2 }]])).positions.get("ok")).toEqual({ x: 1, y: 2 });
});

it("leads long edges past the steps between their ends", () => {
  const { graph } = parse("nodes:\n  a: {next: [b, d]}\n  b: {next: c}\n  c: {next: d}\n  d: {return: ok}\n");
  if (!graph) throw new Error("it is YAML");
  const { positions, lanes } = layOut(graph, new Map());
  const long = lanes.get(ends({ from: "a", to: "d" })) ?? [];
  expect(long).toHaveLength(2);
  for (const lane of long) {
    for (const { x, y } of positions.values()) {
      const isOver = Math.abs(x + SIZE.width / 2 - lane.x) < SIZE.width / 2;
      expect(isOver && lane.y >= y && lane.y <= y + SIZE.height).toBe(false);
    }
  }
  expect(lanes.get(ends({ from: "a", to: "b" }))).toEqual([]);
  expect(layOut(graph, new Map([["a", { x: 0, y: 0 }]])).lanes.get(ends({ from: "a", to: "d" }))).toBeUndefined();
});

it("draws steps whose names every object has (UI-6)", () => {
  const names = ["constructor", "toString", "__proto__", "hasOwnProperty"];
  const nodes = names.map((name, at) => `  ${name}: {with: 1${names[at + 1] ? `, next: ${names[at + 1]}` : ""}}\n`);
  const { graph } = parse(`nodes:\n${nodes.join("")}`);
  if (!graph) throw new Error("it is YAML");
  expect(graph.steps.map(({ id }) => id)).toEqual(names);
  const { positions, lanes } = layOut(graph, new Map());
  expect([...positions.keys()]).toEqual(names);
  expect(new Set([...positions.values()].map(({ x }) => x)).size).toBe(names.length);
  expect([...lanes.keys()]).toHaveLength(names.length - 1);
});
