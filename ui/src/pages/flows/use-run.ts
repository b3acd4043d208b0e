// A trial run of what is on the canvas: each step's state as it changes.
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { runEvents, start } from "../../api/flows";
import { readJson } from "../../api/json";
import { useAddress } from "../../kit";

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
  const [{ run: id = null }] = useAddress<"run">();
  const navigate = useNavigate();
  const [states, setStates] = useState<Record<string, string>>({});
  useEffect(() => {
    setStates({});
    if (!id) return;
    const source = new EventSource(runEvents(id));
    const hear = (event: MessageEvent) => setStates((old) => step(old, readJson(event.data) as Entry));
    source.addEventListener("step", hear);
    source.addEventListener("end", () => source.close());
    source.onerror = () => source.close();
    return () => source.close();
  }, [id]);
  const begin = async (flow: string, inputs: object) => {
    const run = await start(flow, inputs, "draft");
    // In the address, so that whoever comes back from a failed step finds the run as it was.
    navigate({ to: `/ui/flows/${flow}`, search: ((old: object) => ({ ...old, run: run.id })) as never, replace: true });
    return run;
  };
  const close = () =>
    void navigate({ to: ".", search: ((old: object) => ({ ...old, run: undefined })) as never, replace: true });
  return { id, states, begin, close };
}
