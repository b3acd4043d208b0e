// What a save has told: secrets that were not kept, and what may not work as it is meant. It is said until one leaves.
import { useEffect, useSyncExternalStore } from "react";
import { Note, Stack } from "../kit";
import { useWords } from "../words";

type Saved = { dropped_secrets?: string[] | null; warnings?: string[] | null };

const told = new Map<string, Saved>();
const listeners = new Set<() => void>();

/** Of what was saved last there, also where its page comes only then. */
export function rememberSaved(place: string, saved: unknown): void {
  told.set(place, saved as Saved);
  for (const tell of listeners) tell();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function SavedNotes({ of: place }: { of: string }) {
  const words = useWords();
  const saved = useSyncExternalStore(subscribe, () => told.get(place));
  useEffect(() => () => void told.delete(place), [place]);
  const dropped = saved?.dropped_secrets ?? [];
  const warnings = saved?.warnings ?? [];
  if (dropped.length + warnings.length === 0) return null;
  return (
    <Stack>
      {dropped.length > 0 && <Told title={words.done.dropped} all={dropped} />}
      {warnings.length > 0 && <Told title={words.services.warnings(warnings.length)} all={warnings} />}
    </Stack>
  );
}

function Told({ title, all }: { title: string; all: string[] }) {
  return (
    <Note tone="warn" title={title} live="alert">
      <ul>
        {all.map((one) => (
          <li key={one}>{one}</li>
        ))}
      </ul>
    </Note>
  );
}
