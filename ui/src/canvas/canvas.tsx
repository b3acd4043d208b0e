// Steps and edges on a plane. Everything here can also be done by keys and in the step's panel.
import { Background, Controls, type Edge, type Node, ReactFlow, type ReactFlowInstance } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import css from "../kit/canvas.module.css";
import { useWords, type Words } from "../words";
import type { CanvasProps } from ".";
import { LaneEdge } from "./lane-edge";
import { ends, keepPosition, keptPositions, layOut, type Positions, SIZE } from "./layout";
import { StepNode } from "./step-node";

const nodeTypes = { step: StepNode };
const edgeTypes = { lane: LaneEdge };
/** The library's own words for what things are would be English. */
const UNSAID = { "aria-roledescription": undefined };
const FIT = { maxZoom: 1, padding: 0.15 };

/** All steps stay in sight when the panel takes room beside them and when they come to stand elsewhere, until somebody
 * has moved one or the plane. */
function useFit(positions: Positions) {
  const host = useRef<HTMLDivElement>(null);
  const hasMoved = useRef(false);
  const [plane, setPlane] = useState<ReactFlowInstance | null>(null);
  // The plane learns of its size and of steps as we do; a frame later it mostly knows, and two later always.
  const fit = useCallback(() => {
    const now = () => !hasMoved.current && void plane?.fitView(FIT);
    requestAnimationFrame(() => {
      now();
      requestAnimationFrame(now);
    });
  }, [plane]);
  useEffect(() => {
    if (!host.current) return;
    const watch = new ResizeObserver(fit);
    watch.observe(host.current);
    return () => watch.disconnect();
  }, [fit]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever steps stand elsewhere
  useEffect(fit, [fit, positions]);
  const onMoveStart = (event: unknown) => {
    if (event) hasMoved.current = true;
  };
  const onNodeDragStart = () => {
    hasMoved.current = true;
  };
  return { host, props: { onInit: setPlane, onMoveStart, onNodeDragStart, fitViewOptions: FIT } };
}

/** What the plane says to those who do not see it. */
const spokenIn = ({ flows }: Words) => ({
  "node.a11yDescription.default": flows.stepHelp,
  "node.a11yDescription.keyboardDisabled": flows.stepHelp,
  "edge.a11yDescription.default": flows.edgeHelp,
  "controls.ariaLabel": flows.controls,
  "controls.zoomIn.ariaLabel": flows.zoomIn,
  "controls.zoomOut.ariaLabel": flows.zoomOut,
  "controls.fitView.ariaLabel": flows.fit,
  "handle.ariaLabel": flows.handle,
});

export default function Canvas(props: CanvasProps) {
  const { flow, graph, states, selected, isBroken, isLocked, onSelect, onOpen, onEnter, onConnect, onRemove } = props;
  const words = useWords();
  const [moved, setMoved] = useState(() => keptPositions(flow));
  const { positions, lanes } = useMemo(() => layOut(graph, moved), [graph, moved]);
  const { host, props: fitted } = useFit(positions);
  const nodes = graph.steps.map((step): Node => {
    const state = states.get(step.id) ?? "idle";
    return {
      id: step.id,
      type: "step",
      position: positions.get(step.id) ?? { x: 0, y: 0 },
      width: SIZE.width,
      height: SIZE.height,
      selected: step.id === selected,
      focusable: false,
      domAttributes: UNSAID,
      data: { step, state, isSelected: step.id === selected, onSelect, onOpen, onEnter, onRemove, isLocked },
    };
  });
  const spoken = useMemo(() => spokenIn(words), [words]);
  const known = new Set(graph.steps.map((step) => step.id));
  const edges = graph.edges
    .filter((edge) => known.has(edge.to))
    .map(
      (edge): Edge => ({
        id: `${edge.from} ${edge.kind} ${edge.to}`,
        type: lanes.get(ends(edge))?.length ? "lane" : "default",
        ariaLabel: words.flows.edge(edge.from, edge.to),
        domAttributes: UNSAID,
        data: { lanes: lanes.get(ends(edge)) },
        source: edge.from,
        target: edge.to,
        label: edge.kind === "next" ? undefined : words.flows.edges[`on_${edge.kind}`],
        focusable: false,
        className: edge.kind === "fail" ? css.fails : undefined,
      }),
    );
  return (
    <div ref={host} role="application" aria-label={words.flows.canvas} className={isBroken ? css.locked : css.canvas}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        fitView
        {...fitted}
        minZoom={0.2}
        nodesDraggable={!isLocked}
        nodesConnectable={!isLocked}
        nodesFocusable={false}
        edgesFocusable={false}
        disableKeyboardA11y
        deleteKeyCode={null}
        onPaneClick={() => onSelect(null)}
        onNodeDragStop={(_, node) => setMoved(keepPosition(flow, node.id, node.position))}
        onConnect={({ source, target }) => onConnect(source, target)}
        ariaLabelConfig={spoken}
        proOptions={{ hideAttribution: true }}
      >
        <Background />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}
