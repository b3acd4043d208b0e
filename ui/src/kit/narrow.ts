// Where tables become cards and the navigation a button; the style sheets say the same.
import { useSyncExternalStore } from "react";

const query = typeof matchMedia === "undefined" ? null : matchMedia("(max-width: 760px)");

export function useNarrow(): boolean {
  const subscribe = (tell: () => void) => {
    query?.addEventListener("change", tell);
    return () => query?.removeEventListener("change", tell);
  };
  return useSyncExternalStore(subscribe, () => query?.matches ?? false);
}
