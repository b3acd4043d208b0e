// Saving what others save, too: nobody's work is written over without being seen.
import { useState } from "react";
import { ApiError } from "../api/error";
import { useAction } from "./action";
import { useKept } from "./kept";
import { useIsWhole } from "./whole";

type Versioned = { version?: number | null };
type Of<D extends Versioned, T extends Versioned> = {
  /** Where the draft is kept while somebody is elsewhere. */
  place: (string | null)[];
  /** Saves over the version that the draft is based on. */
  save: (draft: D, over: T) => Promise<T>;
  read: () => Promise<T>;
  draftOf: (saved: T) => D;
  write: (draft: D) => string;
  /** The draft without secrets, other than those that are saved. */
  bare?: (draft: D, over: T) => D;
  done: string;
};

/** A draft, its saving, and what the dialog "Changed meanwhile" needs where somebody else was first. */
export function useGuarded<D extends Versioned, T extends Versioned>(first: T, of: Of<D, T>) {
  const [{ base, draft }, setKept, forget] = useKept<{ base: T; draft: D }>({
    place: of.place,
    begin: () => ({ base: first, draft: of.draftOf(first) }),
    isEdited: (kept) => of.write(kept.draft) !== of.write(of.draftOf(kept.base)),
    bare: (kept) => (of.bare ? { ...kept, draft: of.bare(kept.draft, kept.base) } : kept),
  });
  const setDraft = (draft: D) => setKept((old) => ({ ...old, draft }));
  const [theirs, setTheirs] = useState<T | null>(null);
  const show = (next: T) => setKept({ base: next, draft: of.draftOf(next) });
  const store = async (mine: D, over: T) => {
    const saved = await of.save(mine, over);
    forget();
    // What was typed while it was being saved stays, over what is saved now.
    setKept(({ draft }) => {
      const isSame = of.write(draft) === of.write(mine);
      return { base: saved, draft: isSame ? of.draftOf(saved) : { ...draft, version: saved.version } };
    });
    return saved;
  };
  const action = useAction(async (mine: D, over: T) => {
    try {
      return await store(mine, over);
    } catch (error) {
      if (!(error instanceof ApiError && error.isConflict)) throw error;
      const now = await of.read();
      // A name that is taken is a conflict as well, and none that anybody could choose a side in.
      if (now.version === mine.version) throw error;
      // What others changed is nothing that is typed here.
      if (of.write(of.draftOf(now)) === of.write(of.draftOf(over)))
        return store({ ...mine, version: now.version }, now);
      setTheirs(now);
      throw error;
    }
  }, of.done);
  const isWhole = useIsWhole();
  const isTyped = of.write(draft) !== of.write(of.draftOf(base));
  // Another version came in: shown, unless something has been typed here.
  if (!isTyped && !action.isBusy && (first.version ?? 0) > (base.version ?? 0)) show(first);
  const conflict = {
    mine: of.write(draft),
    theirs: theirs && of.write(of.draftOf(theirs)),
    onMine: () => {
      if (!theirs) return;
      const mine = { ...draft, version: theirs.version };
      setKept({ base: theirs, draft: mine });
      setTheirs(null);
      void action.run(mine, theirs);
    },
    onTheirs: () => {
      if (theirs) show(theirs);
      setTheirs(null);
      action.clear();
    },
    onClose: () => setTheirs(null),
  };
  const save = async () => (isWhole() ? action.run(draft, base) : undefined);
  return { draft, setDraft, action, save, conflict };
}
