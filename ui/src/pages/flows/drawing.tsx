// The canvas with the panel of the step that is chosen.
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useRef } from "react";
import { findStepCall } from "../../api/calls";
import { Canvas } from "../../canvas";
import { Empty } from "../../kit";
import css from "../../kit/canvas.module.css";
import { useWords } from "../../words";
import { StepPanel } from "./step-panel";
import type { FlowDraft } from "./use-draft";
import type { FlowRun } from "./use-run";

type Props = {
  draft: FlowDraft;
  run: FlowRun;
  selected: string | null;
  canEdit: boolean;
  onSelect: (id: string | null) => void;
};

export function Drawing({ draft, run, selected, canEdit, onSelect }: Props) {
  const words = useWords();
  const navigate = useNavigate();
  const step = draft.graph.steps.find((one) => one.id === selected);
  const panel = useRef<HTMLDivElement>(null);
  // A step that failed opens what it failed of.
  const open = async (id: string) => {
    onSelect(id);
    if (run.states.get(id) !== "failed" || !run.id) return;
    const call = await findStepCall(run.id, id).catch(() => undefined);
    // Without a call the run says why.
    navigate({ to: call ? `/ui/calls/${call.id}` : `/ui/runs/${run.id}` });
  };
  const enter = async (id: string) => {
    await open(id);
    panel.current?.querySelector<HTMLElement>("select, input, textarea, button")?.focus();
  };
  // Back to where one came from; otherwise Tab would lead through all other steps, and choose them.
  const leave = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !selected) return;
    document.querySelector<HTMLElement>(`[data-step="${CSS.escape(selected)}"]`)?.focus();
  };
  if (draft.graph.steps.length === 0 && draft.isBroken) return <Empty title={words.http.nothing} />;
  if (draft.graph.steps.length === 0) return <Empty title={words.flows.noSteps}>{words.flows.noStepsHint}</Empty>;
  return (
    <div className={css.work}>
      <Canvas
        flow={draft.id}
        graph={draft.graph}
        states={run.states}
        selected={selected}
        isBroken={draft.isBroken}
        isLocked={draft.isBroken || !canEdit}
        onSelect={onSelect}
        onOpen={open}
        onEnter={enter}
        onConnect={draft.connect}
        onRemove={draft.removeStep}
      />
      {step && canEdit && !draft.isBroken && (
        // biome-ignore lint/a11y/noStaticElementInteractions: one key for the whole panel
        <div ref={panel} onKeyDown={leave}>
          <StepPanel key={step.id} step={step} draft={draft} />
        </div>
      )}
    </div>
  );
}
