// The stream of what happens: what changed is asked for anew, calls are handed on as they come.
import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { address, whenTenantChanges } from "./client";
import { readJson } from "./json";
import type { Call } from "./types";

const TOPICS = "changed,health,call,stats,index,run";
/** Many changes at once are one question. */
const SETTLE_MS = 300;
const RETRY_MS = 3000;
/** The server says something every 15 seconds; one that is silent for so long is gone, whatever the connection looks like. */
const SILENT_MS = 25_000;
const ALL = ["alive", "call", "changed", "health", "index", "reset", "run", "skipped", "stats"];

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
  let silence: ReturnType<typeof setTimeout> | undefined;
  const lost = () => {
    clearTimeout(silence);
    setLive(false);
    hasGap = true;
    source?.close();
    retry = setTimeout(open, RETRY_MS);
  };
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(lost, SILENT_MS);
  };
  const open = () => {
    heard();
    source = new EventSource(address("/api/v1/events", { topics: TOPICS }));
    source.onopen = () => {
      setLive(true);
      // What happened meanwhile was not told; while nobody answers there is nothing to ask.
      if (hasGap) refresh();
      hasGap = false;
    };
    source.onerror = lost;
    for (const topic of ALL) source.addEventListener(topic, heard);
    for (const topic of ["changed", "health", "index", "reset"]) source.addEventListener(topic, refresh);
    source.addEventListener("call", (event) => tell({ type: "call", call: readJson(event.data) as never }));
    source.addEventListener("run", (event) => {
      tell({ type: "run", run: readJson(event.data) as never });
      void queries.invalidateQueries({ queryKey: ["runs"] });
    });
  };
  const close = () => {
    clearTimeout(retry);
    clearTimeout(silence);
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
