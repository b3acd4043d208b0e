// Where the steps of a flow stand, if nobody has moved them.
import dagre from "@dagrejs/dagre";
import type { Graph } from "./source";

export const SIZE = { width: 200, height: 64 };
export type Positions = Record<string, { x: number; y: number }>;

export function layOut({ steps, edges }: Graph, moved: Positions): Positions {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 24, ranksep: 56 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const step of steps) graph.setNode(step.id, { ...SIZE });
  for (const edge of edges) if (graph.hasNode(edge.to)) graph.setEdge(edge.from, edge.to);
  dagre.layout(graph);
  return Object.fromEntries(
    steps.map((step) => {
      const { x, y } = graph.node(step.id) as { x: number; y: number };
      return [step.id, moved[step.id] ?? { x: x - SIZE.width / 2, y: y - SIZE.height / 2 }];
    }),
  );
}

const key = (flow: string) => `positions ${flow}`;

/** Positions belong to the picture, not to the flow: they lie beside the YAML. */
export function keptPositions(flow: string): Positions {
  try {
    return JSON.parse(localStorage.getItem(key(flow)) ?? "{}");
  } catch {
    return {};
  }
}

export function keepPosition(flow: string, id: string, at: { x: number; y: number }): Positions {
  const all = { ...keptPositions(flow), [id]: at };
  localStorage.setItem(key(flow), JSON.stringify(all));
  return all;
}
