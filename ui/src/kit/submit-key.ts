// Ctrl or ⌘ Enter does what the form is for; in a dialog, so does Enter in a field of one line.
import type { KeyboardEvent } from "react";

export function useSubmitKey(submit: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) take(event, submit);
  };
}

/** What a dialog does by Enter, as everybody expects of a field with a button below it. */
export function useDialogKey(submit: (() => void) | undefined): (event: KeyboardEvent) => void {
  return (event) => {
    const isSent = event.ctrlKey || event.metaKey || (isLine(event.target) && !event.shiftKey);
    if (submit && event.key === "Enter" && isSent && !event.nativeEvent.isComposing) take(event, submit);
  };
}

const LINES = ["text", "password", "number", "datetime-local"];

/** A field whose Enter means nothing else: no list to choose from, no button, no text of several lines. */
const isLine = (target: EventTarget) =>
  (target instanceof HTMLInputElement && LINES.includes(target.type) && target.role !== "combobox") ||
  (target instanceof HTMLTextAreaElement && "line" in target.dataset);

function take(event: KeyboardEvent, submit: () => void) {
  event.preventDefault();
  // A dialog lies inside of the form that opened it, as far as events go.
  event.stopPropagation();
  submit();
}
