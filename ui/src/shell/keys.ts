// Keys that work everywhere. Single ones can be switched off, and never take a letter from a text field.
import { useEffect } from "react";
import { usePreferences } from "./preferences";

type Shortcuts = { onSearch: () => void; onHelp: () => void };

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

export function useShortcuts({ onSearch, onHelp }: Shortcuts): void {
  const { keys } = usePreferences();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const withCommand = event.ctrlKey || event.metaKey;
      if (withCommand && event.key.toLowerCase() === "k") {
        event.preventDefault();
        onSearch();
      } else if (keys && !withCommand && !isTyping(event.target)) {
        if (event.key === "?") onHelp();
        if (event.key === "/") focusFilter(event);
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  });
}

function focusFilter(event: KeyboardEvent) {
  const filter = document.querySelector<HTMLElement>('main [type="search"]');
  if (!filter) return;
  event.preventDefault();
  filter.focus();
}
