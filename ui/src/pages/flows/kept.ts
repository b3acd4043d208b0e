// Drafts of flows that were left unsaved: the text with its way back, and what it was based on.
import { useCallback, useEffect } from "react";
import { begin, type History } from "../../canvas/history";
import { useKept } from "../../form/kept";

/** What the server had when the text was begun. A flow that is not there yet has no revision. */
export type Base = { source: string; revision: number | undefined };
type Kept = { id: string; base: Base; history: History };

/** Kept together with the revision that it changes: whoever comes back to a flow that somebody else has saved meanwhile
 * saves over nothing. */
export function useKeptDraft(flow: { id: string; revision: number } | null, source: string, freshId: string) {
  const [{ id, base, history }, setDraft] = useKept<Kept>({
    place: ["flows", flow?.id ?? null],
    begin: () => ({ id: flow?.id ?? freshId, base: { source, revision: flow?.revision }, history: begin(source) }),
    isEdited: (draft) => draft.history.now !== draft.base.source,
  });
  // Somebody else has saved: shown, unless something was typed here.
  const revision = flow?.revision;
  useEffect(() => {
    setDraft((old) => {
      const isNews = revision !== undefined && revision > (old.base.revision ?? 0);
      if (!isNews || old.history.now !== old.base.source) return old;
      return { ...old, base: { source, revision }, history: old.base.source === source ? old.history : begin(source) };
    });
  }, [revision, source, setDraft]);
  const setHistory = useCallback(
    (change: (old: History) => History) => setDraft((old) => ({ ...old, history: change(old.history) })),
    [setDraft],
  );
  const setBase = useCallback((base: Base) => setDraft((old) => ({ ...old, base })), [setDraft]);
  const setId = useCallback((id: string) => setDraft((old) => ({ ...old, id })), [setDraft]);
  return { id, setId, base, setBase, history, setHistory };
}
