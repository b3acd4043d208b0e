// One step on the canvas: Enter leads to its panel, Delete takes it away.
import { Handle, Position } from "@xyflow/react";
import type { FocusEvent, KeyboardEvent } from "react";
import { StateBadge } from "../catalog/badges";
import css from "../kit/canvas.module.css";
import { stateWord, useWords } from "../words";
import type { Step } from "./source";

type Data = {
  step: Step;
  state: string;
  isSelected: boolean;
  isLocked: boolean;
  onSelect: (id: string) => void;
  onOpen: (id: string) => void;
  onEnter: (id: string) => void;
  onRemove: (id: string) => void;
};

export function StepNode({ data }: { data: Data }) {
  const words = useWords();
  const { step, state, isSelected, isLocked, onSelect, onOpen, onEnter, onRemove } = data;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      onEnter(step.id);
    } else if ((event.key === "Delete" || event.key === "Backspace") && !isLocked) {
      onRemove(step.id);
    }
  };
  // Whoever presses a button of a mouse chooses with letting it go: the plane moves when a panel opens beside it.
  const onFocus = (event: FocusEvent) => event.currentTarget.matches(":focus-visible") && onSelect(step.id);
  const word = state === "idle" ? words.flows.idle : stateWord(words, state);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a step is no fieldset
    <div
      role="group"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: steps are gone through by Tab
      tabIndex={0}
      aria-label={words.flows.step(step.id, word)}
      aria-current={isSelected || undefined}
      data-step={step.id}
      data-state={state}
      className={css.step}
      onFocus={onFocus}
      onClick={() => onOpen(step.id)}
      onKeyDown={onKeyDown}
    >
      <Handle type="target" position={Position.Left} />
      <strong>
        <bdi>{step.id}</bdi>
      </strong>
      <span className={css.uri}>{step.uri || words.stepKinds[step.kind]}</span>
      {state !== "idle" && <StateBadge state={state} />}
      <Handle type="source" position={Position.Right} />
    </div>
  );
}
