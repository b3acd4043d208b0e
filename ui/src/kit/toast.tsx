// One short message for what was just done: "Saved", "Deleted", "Copied".
import { Check } from "lucide-react";
import { useSyncExternalStore } from "react";
import css from "./overlay.module.css";

const SHOWN_MS = 4000;
let text = "";
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function set(next: string): void {
  text = next;
  for (const listener of listeners) listener();
}

export function toast(message: string): void {
  clearTimeout(timer);
  set(message);
  timer = setTimeout(() => set(""), SHOWN_MS);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Always in the page, so that what comes into it is said. */
export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => text);
  return (
    <div className={css.toasts} role="status" aria-label={shown || undefined} aria-live="polite">
      {shown && (
        <div className={css.toast}>
          <Check size={16} aria-hidden />
          {shown}
        </div>
      )}
    </div>
  );
}
