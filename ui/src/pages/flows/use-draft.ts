// The draft of a flow: its text with undo, what it draws, and saving without losing anybody's work.
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { ApiError } from "../../api/error";
import * as api from "../../api/flows";
import type { Flow } from "../../api/types";
import { push, redo, undo } from "../../canvas/history";
import {
  addStep,
  connect,
  disconnect,
  type Edge,
  type Graph,
  parse,
  removeStep,
  setArgs,
  setNext,
} from "../../canvas/source";
import type { Mark } from "../../editor";
import { useAction } from "../../form/action";
import { useIsWhole } from "../../form/whole";
import { useWords } from "../../words";
import { useKeptDraft } from "./kept";

const NOTHING: Graph = { steps: [], edges: [], inputs: null };
const CHECK_MS = 400;

export type FlowDraft = ReturnType<typeof useFlowDraft>;

export function useFlowDraft(flow: Flow | null, source: string) {
  const words = useWords();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [freshId] = useState(() => `flow-${Date.now().toString(36)}`);
  const { id, setId, base, setBase, history, setHistory } = useKeptDraft(flow, source, freshId);
  // Of the last save, which may have ended after this was drawn.
  const revision = useRef(base.revision);
  useEffect(() => {
    revision.current = base.revision;
  }, [base.revision]);
  const inLine = useRef<Promise<unknown>>(Promise.resolve());
  const [theirs, setTheirs] = useState<Flow | null>(null);
  const text = history.now;
  const parsed = useMemo(() => parse(text), [text]);
  const lastGood = useRef<Graph | null>(null);
  // Whoever comes back to a text that cannot be read sees what could be read last, or what can be read of it.
  lastGood.current ??= lastGraph([base.source, ...history.past, text]) ?? parsed.partial ?? NOTHING;
  if (parsed.graph) lastGood.current = parsed.graph;
  const problems = useChecks(id, text, parsed.graph !== null);
  const set = (next: string) => setHistory((old) => push(old, next));

  const take = (saved: Flow, source: string) => {
    revision.current = saved.revision;
    setBase({ source, revision: saved.revision });
    // Whoever comes back sees what was saved, and not what was there before.
    queries.setQueryData(api.flow(saved.id).queryKey, { ...saved, source });
  };
  const writeNow = async (): Promise<Flow> => {
    try {
      const isKnown = revision.current !== undefined;
      const saved = isKnown ? await api.saveDraft(id, text, revision.current) : await api.create(id, text);
      take(saved, text);
      return saved;
    } catch (error) {
      const isStale = revision.current !== undefined && error instanceof ApiError && error.isConflict;
      if (isStale) setTheirs(await queries.fetchQuery({ ...api.flow(id), staleTime: 0 }));
      throw error;
    }
  };
  // One after another: each is based on what the one before it made.
  const write = (): Promise<Flow> => {
    const next = inLine.current.then(writeNow, writeNow);
    inLine.current = next;
    return next;
  };
  const show = (saved: Flow) => !flow && navigate({ to: `/ui/flows/${saved.id}`, replace: true });
  const saving = useAction(write, words.done.saved);
  const publishing = useAction(async () => {
    const saved = await write();
    await api.publish(id);
    return saved;
  }, words.done.published);
  const isWhole = useIsWhole();
  const save = async () => {
    if (!isWhole()) return;
    const saved = await saving.run();
    if (saved) show(saved);
  };
  const conflict = {
    mine: text,
    theirs: theirs?.source ?? null,
    onMine: () => {
      revision.current = theirs?.revision;
      setTheirs(null);
      void saving.run();
    },
    onTheirs: () => {
      if (typeof theirs?.source === "string") {
        set(theirs.source);
        take(theirs, theirs.source);
      }
      setTheirs(null);
      saving.clear();
      publishing.clear();
    },
    onClose: () => setTheirs(null),
  };
  return {
    id,
    setId,
    text,
    isNew: !flow,
    isBroken: parsed.graph === null,
    graph: parsed.graph ?? lastGood.current,
    marks: parsed.graph ? problems : parsed.marks,
    type: (next: string) => setHistory((old) => push(old, next, Date.now(), true)),
    undo: () => setHistory(undo),
    redo: () => setHistory(redo),
    canUndo: history.past.length > 0,
    canRedo: history.future.length > 0,
    addStep: (uri: string) => {
      const added = addStep(text, uri);
      set(added.text);
      return added.id;
    },
    removeStep: (step: string) => set(removeStep(text, step)),
    connect: (from: string, to: string) => set(connect(text, from, to)),
    disconnect: (edge: Edge) => set(disconnect(text, edge)),
    setNext: (step: string, at: number, to: string | undefined) => set(setNext(text, step, at, to)),
    setArgs: (step: string, args: unknown) => set(setArgs(text, step, args)),
    saving,
    publishing,
    save,
    /** For a trial: what is drawn is what runs. */
    saveForRun: () => saving.run(),
    publish: async () => {
      if (!isWhole()) return;
      const saved = await publishing.run();
      if (saved) show(saved);
    },
    conflict,
  };
}

function lastGraph(texts: string[]): Graph | null {
  for (const text of texts.toReversed()) {
    const { graph } = parse(text);
    if (graph) return graph;
  }
  return null;
}

/** What the server finds wrong, on its lines. */
function useChecks(id: string, text: string, isYaml: boolean): Mark[] {
  const [marks, setMarks] = useState<Mark[]>([]);
  useEffect(() => {
    if (!isYaml) return;
    const check = async () => {
      const { errors } = await api.validate(id, text).catch(() => ({ errors: [] }));
      setMarks(errors.map(({ line, column, message, severity }) => ({ line, column, message, severity })));
    };
    const timer = setTimeout(check, CHECK_MS);
    return () => clearTimeout(timer);
  }, [id, text, isYaml]);
  return marks;
}
