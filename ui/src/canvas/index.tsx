// The canvas. Its code comes when the first flow is shown.
import { lazy, Suspense } from "react";
import { Skeleton } from "../kit";
import type { Graph } from "./source";

export type CanvasProps = {
  flow: string;
  graph: Graph;
  states: Record<string, string>;
  selected: string | null;
  /** The text is no YAML: what is drawn was true before. */
  isBroken: boolean;
  isLocked: boolean;
  onSelect: (id: string | null) => void;
  onOpen: (id: string) => void;
  onConnect: (from: string, to: string) => void;
  onRemove: (id: string) => void;
};

const LazyCanvas = lazy(() => import("./canvas"));

export function Canvas(props: CanvasProps) {
  return (
    <Suspense fallback={<Skeleton lines={8} />}>
      <LazyCanvas {...props} />
    </Suspense>
  );
}
