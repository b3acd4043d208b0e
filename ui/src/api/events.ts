// The stream of what happens: what changed is asked for anew, calls are handed on as they come.
import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { address, whenTenantChanges } from "./client";
import type { Call } from "./types";

const TOPICS = "changed,health,call,stats,index,run";
/** Many changes at once are one question. */
const SETTLE_MS = 300;
const RETRY_MS = 3000;

export type LiveEvent = { type: "call"; call: Partial<Call> } | { type: "run"; run: { id?: string; run_id?: string } };

let isLive = false;
let source: EventSource | null = null;
let retry: ReturnType<typeof setTimeout> | undefined;
const states = new Set<() => void>();
const hearers = new Set<(event: LiveEvent) => void>();

function setLive(next: boolean): void {
  if (next === isLive) return;
  isLive = next;
  for (const tell of states) tell();
}

/** Listens until it is told to stop, and again whenever the connection is lost. */
export function listen(queries: QueryClient): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const refresh = () => {
    clearTimeout(timer);
    timer = setTimeout(
      () => queries.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "me" }),
      SETTLE_MS,
    );
  };
  let hasGap = false;
  const open = () => {
    source = new EventSource(address("/api/v1/events", { topics: TOPICS }));
    source.onopen = () => {
      setLive(true);
      // What happened meanwhile was not told; while nobody answers there is nothing to ask.
      if (hasGap) refresh();
      hasGap = false;
    };
    source.onerror = () => {
      setLive(false);
      hasGap = true;
      source?.close();
      retry = setTimeout(open, RETRY_MS);
    };
    for (const topic of ["changed", "health", "index", "reset"]) source.addEventListener(topic, refresh);
    source.addEventListener("call", (event) => tell({ type: "call", call: JSON.parse(event.data) }));
    source.addEventListener("run", (event) => {
      tell({ type: "run", run: JSON.parse(event.data) });
      void queries.invalidateQueries({ queryKey: ["runs"] });
    });
  };
  const close = () => {
    clearTimeout(retry);
    source?.close();
    setLive(false);
  };
  open();
  whenTenantChanges(() => {
    close();
    open();
  });
  return () => {
    whenTenantChanges(() => undefined);
    clearTimeout(timer);
    close();
  };
}

function tell(event: LiveEvent): void {
  for (const hear of hearers) hear(event);
}

export function hear(hearer: (event: LiveEvent) => void): () => void {
  hearers.add(hearer);
  return () => hearers.delete(hearer);
}

export function useLive(): boolean {
  const subscribe = (tell: () => void) => {
    states.add(tell);
    return () => states.delete(tell);
  };
  return useSyncExternalStore(subscribe, () => isLive);
}
