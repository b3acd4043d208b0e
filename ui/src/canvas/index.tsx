// The canvas. Its code comes when the first flow is shown.
import { Component, type ReactNode, Suspense } from "react";
import { ErrorNote, Skeleton } from "../kit";
import { lazily } from "../kit/lazily";
import type { Graph } from "./source";

export type CanvasProps = {
  flow: string;
  graph: Graph;
  states: ReadonlyMap<string, string>;
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
    <Apart key={props.flow} of={props.graph}>
      <Suspense fallback={<Skeleton lines={8} />}>
        <LazyCanvas {...props} />
      </Suspense>
    </Apart>
  );
}

/** What the canvas cannot draw takes nothing else with it: the YAML beside it stays. What changes is drawn anew. */
class Apart extends Component<{ of: Graph; children: ReactNode }, { error: Error | null }> {
  override state = { error: null };

  static getDerivedStateFromError = (error: Error) => ({ error });

  override componentDidUpdate({ of }: { of: Graph }) {
    if (this.state.error && of !== this.props.of) this.setState({ error: null });
  }

  override render() {
    return this.state.error ? <ErrorNote error={this.state.error} /> : this.props.children;
  }
}
