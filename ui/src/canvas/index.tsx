// The canvas. Its code comes when the first flow is shown.
import { Suspense } from "react";
import { Skeleton } from "../kit";
import { lazily } from "../kit/lazily";
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
  /** By a key: whoever has no mouse goes on in the step's panel, wherever that is. */
  onEnter: (id: string) => void;
  onConnect: (from: string, to: string) => void;
  onRemove: (id: string) => void;
};

export const loadCanvas = () => import("./canvas");
const LazyCanvas = lazily(loadCanvas);

export function Canvas(props: CanvasProps) {
  return (
    <Suspense fallback={<Skeleton lines={8} />}>
      <LazyCanvas {...props} />
    </Suspense>
  );
}
