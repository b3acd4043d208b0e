// What was typed and is not saved: it stays for as long as the console is open, and nowhere but in memory.
import { type SetStateAction, useCallback, useEffect, useState } from "react";
import { currentTenant } from "../api/client";

const kept = new Map<string, { value: unknown; asks: boolean }>();
/** Typed into something that is not kept, like a dialog with a password. */
const open = new Set<object>();

/** One thing of one tenant; those that are not there yet share a place that nothing else can have. */
const placeOf = (of: Place) => JSON.stringify([currentTenant(), ...of]);

type Place = (string | null | undefined)[];
type Of<T> = {
  /** Where it is typed: what it is of, by its address. */
  place: Place;
  begin: () => T;
  isEdited: (value: T) => boolean;
  /** The same without its secrets, which are typed again. */
  bare?: (value: T) => T;
  /** Whether it would be lost for whoever closes the console. */
  asks?: (value: T) => boolean;
};

/**
 * A state that outlives its page, together with whatever it was based on, so that whoever comes back saves over nobody's
 * work. What is as it was begun is not kept. The third part forgets it, once it is saved.
 */
export function useKept<T>(of: Of<T>): [T, (next: SetStateAction<T>) => void, () => void] {
  const [place] = useState(() => placeOf(of.place));
  const [value, setValue] = useState<T>(() => (kept.get(place)?.value as T | undefined) ?? of.begin());
  const bare = of.bare?.(value) ?? value;
  const isEdited = of.isEdited(value);
  useEffect(() => {
    if (isEdited) kept.set(place, { value: bare, asks: of.asks?.(value) ?? true });
    else kept.delete(place);
    // Of what is nothing without its secrets, nothing is left to come back to.
    return () => {
      if (!of.isEdited(bare)) kept.delete(place);
    };
  });
  const forget = useCallback(() => void kept.delete(place), [place]);
  return [value, setValue, forget];
}

/** For what is typed and not kept: whoever closes the console is asked all the same. */
export function useUnsaved(isTyped: boolean): void {
  useEffect(() => {
    if (!isTyped) return;
    const mark = {};
    open.add(mark);
    return () => void open.delete(mark);
  }, [isTyped]);
}

/** Whoever comes next may be somebody else. */
export function forgetDrafts(): void {
  kept.clear();
  open.clear();
}

export const isAnythingUnsaved = (): boolean => open.size > 0 || [...kept.values()].some(({ asks }) => asks);

/** Nothing outlives that the page is loaded anew, so whoever does that is asked first. */
export function askBeforeLeaving(): void {
  window.addEventListener("beforeunload", (event) => {
    if (isAnythingUnsaved()) event.preventDefault();
  });
}
