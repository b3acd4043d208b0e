// Arrow keys in a tree, as the ARIA practices describe them.
import type { KeyboardEvent } from "react";

export function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="treeitem"]')];
  const at = items.indexOf(document.activeElement as HTMLElement);
  if (at < 0) return;
  const next = target(event.key, items, at);
  if (!next) return;
  event.preventDefault();
  for (const item of items) item.tabIndex = item === next ? 0 : -1;
  next.focus();
}

function target(key: string, items: HTMLElement[], at: number): HTMLElement | null | undefined {
  switch (key) {
    case "ArrowDown":
      return items[at + 1];
    case "ArrowUp":
      return items[at - 1];
    case "Home":
      return items[0];
    case "End":
      return items.at(-1);
    case "ArrowLeft":
      return items[at]?.parentElement?.closest<HTMLElement>('[role="treeitem"]');
    case "ArrowRight":
      return items[at]?.querySelector<HTMLElement>('[role="treeitem"]');
    default:
      return null;
  }
}
