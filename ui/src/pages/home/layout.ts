// Where the boxes of the live graph stand. Pure, so that it can be tested.
import type { Overview, TrafficNode } from "../../api/types";

export const BOX = { width: 250, height: 46, gap: 8, top: 28, left: [0, 375, 750] };
const MOST = 12;
const THICKEST = 6;

export type Placed = { node: TrafficNode; x: number; y: number };
type Line = { key: string; path: string; width: number; isFailing: boolean };

export function layOut(data: Overview): { columns: Placed[][]; links: Line[]; width: number; height: number } {
  const columns = [data.doors, data.tools, data.services].map((nodes, column) =>
    nodes.slice(0, MOST).map((node, row) => ({
      node,
      x: BOX.left[column] ?? 0,
      y: BOX.top + row * (BOX.height + BOX.gap),
    })),
  );
  const rows = Math.max(1, ...columns.map((nodes) => nodes.length));
  return {
    columns,
    links: lines(data, columns),
    width: (BOX.left[2] ?? 0) + BOX.width,
    height: BOX.top + rows * (BOX.height + BOX.gap),
  };
}

function lines(data: Overview, columns: Placed[][]): Line[] {
  const most = Math.max(1, ...data.links.map((link) => link.calls));
  const find = (id: string, among: Placed[][]) => among.flat().find((placed) => placed.node.id === id);
  return data.links.flatMap((link) => {
    const from = find(link.from, columns.slice(0, 2));
    const to = find(link.to, columns.slice(1));
    if (!from || !to) return [];
    const [x1, y1] = [from.x + BOX.width, from.y + BOX.height / 2];
    const [x2, y2] = [to.x, to.y + BOX.height / 2];
    const middle = (x1 + x2) / 2;
    return {
      key: `${link.from} ${link.to}`,
      path: `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`,
      width: 1 + (THICKEST - 1) * Math.sqrt(link.calls / most),
      isFailing: link.errors > 0 && link.errors * 2 >= link.calls,
    };
  });
}
