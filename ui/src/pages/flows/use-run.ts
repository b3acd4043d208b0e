// A trial run of what is on the canvas: each step's state as it changes.
import { useEffect, useState } from "react";
import { runEvents, start } from "../../api/flows";

type Entry = { path: string; kind: string; state?: string };
export type FlowRun = ReturnType<typeof useRun>;

const STATES: Record<string, string> = {
  called: "running",
  begun: "running",
  started: "running",
  failed: "failed",
  succeeded: "succeeded",
  done: "succeeded",
  skipped: "skipped",
  cancelled: "cancelled",
  waiting: "waiting",
  parked: "waiting",
};

/** What one line of the journal makes of the states. */
export function step(states: Record<string, string>, { path, kind, state }: Entry): Record<string, string> {
  const top = path.split(/[.[]/)[0];
  if (!top) return states;
  const next = state ?? STATES[kind] ?? "succeeded";
  return { ...states, [top]: path === top ? next : (states[top] ?? "running") };
}

export function useRun() {
  const [id, setId] = useState<string | null>(null);
  const [states, setStates] = useState<Record<string, string>>({});
  useEffect(() => {
    if (!id) return;
    const source = new EventSource(runEvents(id));
    const hear = (event: MessageEvent) => setStates((old) => step(old, JSON.parse(event.data)));
    source.addEventListener("step", hear);
    source.addEventListener("end", () => source.close());
    source.onerror = () => source.close();
    return () => source.close();
  }, [id]);
  const begin = async (flow: string, inputs: object) => {
    setStates({});
    const run = await start(flow, inputs, "draft");
    setId(run.id);
    return run;
  };
  return { id, states, begin };
}
