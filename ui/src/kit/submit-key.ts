// Ctrl or ⌘ Enter does what the form is for.
import type { KeyboardEvent } from "react";

export function useSubmitKey(submit: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    submit();
  };
}
