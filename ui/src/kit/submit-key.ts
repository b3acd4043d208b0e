// Ctrl or ⌘ Enter does what the form is for.
import type { KeyboardEvent } from "react";

export function useSubmitKey(submit: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    // A dialog lies inside of the form that opened it, as far as events go.
    event.stopPropagation();
    submit();
  };
}
