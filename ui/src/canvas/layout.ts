// Where the steps of a flow stand, if nobody has moved them.
import dagre from "@dagrejs/dagre";
import type { Graph } from "./source";

export const SIZE = { width: 200, height: 64 };
type Point = { x: number; y: number };
/** By ids, which may be any word: `constructor` is something on every object. */
export type Positions = ReadonlyMap<string, Point>;
/** Where edges pass between steps, by their ends. */
export type Lanes = ReadonlyMap<string, Point[]>;
export const ends = (edge: { from: string; to: string }) => `${edge.from} ${edge.to}`;

/** The layout keeps nodes on a plain object. */
const nodeOf = (id: string) => `step ${id}`;

export function layOut({ steps, edges }: Graph, moved: Positions): { positions: Positions; lanes: Lanes } {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 24, ranksep: 56 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const step of steps) graph.setNode(nodeOf(step.id), { ...SIZE });
  const known = edges.filter(({ to }) => graph.hasNode(nodeOf(to)));
  for (const { from, to } of known) graph.setEdge(nodeOf(from), nodeOf(to));
  dagre.layout(graph);
  const centres = steps.map((step) => graph.node(nodeOf(step.id)) as Point);
  const placed = steps.map((step, at): [string, Point] => {
    const { x = 0, y = 0 } = centres[at] ?? {};
    return [step.id, moved.get(step.id) ?? { x: x - SIZE.width / 2, y: y - SIZE.height / 2 }];
  });
  // Only beside other steps does an edge have to keep to a lane. Whoever moves a step draws its edges anew.
  const isBeside = ({ x }: Point) => centres.some((centre) => Math.abs(centre.x - x) < SIZE.width / 2);
  const drawn = known.filter(({ from, to }) => !moved.has(from) && !moved.has(to));
  const passes = ({ from, to }: { from: string; to: string }) =>
    graph.edge(nodeOf(from), nodeOf(to)).points.slice(1, -1) as Point[];
  const lanes = drawn.map((edge): [string, Point[]] => [ends(edge), passes(edge).filter(isBeside)]);
  return { positions: new Map(placed), lanes: new Map(lanes) };
}

/** From one step to another along lanes: straight beside other steps, curved between them. */
export function pathOf(from: Point, to: Point, lanes: Point[]): string {
  const half = SIZE.width / 2;
  const curve = (start: Point, end: Point) => {
    const middle = (start.x + end.x) / 2;
    return `C ${middle},${start.y} ${middle},${end.y} ${end.x},${end.y}`;
  };
  let at = from;
  let path = `M ${from.x},${from.y}`;
  for (const { x, y } of lanes) {
    path += ` ${curve(at, { x: x - half, y })} H ${x + half}`;
    at = { x: x + half, y };
  }
  return `${path} ${curve(at, to)}`;
}

const key = (flow: string) => `positions ${flow}`;

/** Positions belong to the picture, not to the flow: they lie beside the YAML. */
export function keptPositions(flow: string): Positions {
  try {
    return new Map(Object.entries(JSON.parse(localStorage.getItem(key(flow)) ?? "{}")));
  } catch {
    return new Map();
  }
}

export function keepPosition(flow: string, id: string, at: Point): Positions {
  const all = new Map(keptPositions(flow)).set(id, at);
  localStorage.setItem(key(flow), JSON.stringify(Object.fromEntries(all)));
  return all;
}
