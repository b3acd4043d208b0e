// An edge that passes other steps keeps to a lane between them.
import { BaseEdge, type EdgeProps } from "@xyflow/react";
import { pathOf } from "./layout";

export function LaneEdge({ id, sourceX, sourceY, targetX, targetY, data, label, markerEnd }: EdgeProps) {
  const lanes = data?.lanes as { x: number; y: number }[];
  const [first] = lanes;
  const path = pathOf({ x: sourceX, y: sourceY }, { x: targetX, y: targetY }, lanes);
  return <BaseEdge id={id} path={path} label={label} labelX={first?.x} labelY={first?.y} markerEnd={markerEnd} />;
}
