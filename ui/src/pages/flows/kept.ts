// Drafts of flows that were left unsaved: the text with its way back, and what it was based on.
import { useCallback, useEffect, useState } from "react";
import { currentTenant } from "../../api/client";
import { begin, type History } from "../../canvas/history";

/** What the server had when the text was begun. A flow that is not there yet has no revision. */
export type Base = { source: string; revision: number | undefined };
type Kept = { id: string; base: Base; history: History };

const kept = new Map<string, Kept>();

/** One flow of one tenant; those that are not there yet share a place that no flow can have. */
const placeOf = (id: string | null) => JSON.stringify([currentTenant(), id]);

/**
 * What was typed stays for as long as the console is open, together with the revision that it changes: whoever comes
 * back to a flow that somebody else has saved meanwhile saves over nothing. What was not changed is not kept.
 */
export function useKeptDraft(flow: { id: string; revision: number } | null, source: string, freshId: string) {
  const [place] = useState(() => placeOf(flow?.id ?? null));
  const [{ id, base, history }, setDraft] = useState<Kept>(
    () =>
      kept.get(place) ?? {
        id: flow?.id ?? freshId,
        base: { source, revision: flow?.revision },
        history: begin(source),
      },
  );
  const isEdited = history.now !== base.source;
  useEffect(() => {
    if (isEdited) kept.set(place, { id, base, history });
    else kept.delete(place);
  }, [place, id, base, history, isEdited]);
  // Somebody else has saved: shown, unless something was typed here.
  const revision = flow?.revision;
  useEffect(() => {
    setDraft((old) => {
      const isNews = revision !== undefined && revision > (old.base.revision ?? 0);
      if (!isNews || old.history.now !== old.base.source) return old;
      return { ...old, base: { source, revision }, history: old.base.source === source ? old.history : begin(source) };
    });
  }, [revision, source]);
  const setHistory = useCallback(
    (change: (old: History) => History) => setDraft((old) => ({ ...old, history: change(old.history) })),
    [],
  );
  const setBase = useCallback((base: Base) => setDraft((old) => ({ ...old, base })), []);
  const setId = useCallback((id: string) => setDraft((old) => ({ ...old, id })), []);
  return { id, setId, base, setBase, history, setHistory };
}
