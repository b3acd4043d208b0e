// The stream of what happens: what changed is asked for anew, calls are handed on as they come.
import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { address, nameOfView, send, whenTenantChanges } from "./client";
import { share } from "./share";
import { eventsOf, type StreamEvent } from "./stream";
import type { Call } from "./types";

const TOPICS = "changed,health,call,stats,index,run";
/** Many changes at once are one question. */
const SETTLE_MS = 300;
const RETRY_MS = 3000;
/** The server says something every 15 seconds; one that is silent for so long is gone, whatever the connection looks like. */
const SILENT_MS = 25_000;

export type LiveEvent = { type: "call"; call: Partial<Call> } | { type: "run"; run: { id?: string; run_id?: string } };
/** What one tab tells the others: an event of the server's, or how the connection is. */
type Told = StreamEvent | { type: "open" | "again" | "lost" };

let isLive = false;
const states = new Set<() => void>();
const hearers = new Set<(event: LiveEvent) => void>();

function setLive(next: boolean): void {
  if (next === isLive) return;
  isLive = next;
  for (const tell of states) tell();
}

/** Listens until it is told to stop, as long as somebody can see the page, and asks for everything anew after a gap. */
export function listen(queries: QueryClient): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const refresh = () => {
    clearTimeout(timer);
    timer = setTimeout(
      () => queries.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "me" }),
      SETTLE_MS,
    );
  };
  let silence: ReturnType<typeof setTimeout> | undefined;
  const hear = (told: Told) => {
    clearTimeout(silence);
    setLive(told.type !== "lost");
    if (told.type !== "lost") silence = setTimeout(() => setLive(false), SILENT_MS);
    if (["again", "changed", "health", "index", "reset"].includes(told.type)) refresh();
    if (told.type === "call") tell({ type: "call", call: (told as StreamEvent).data });
    if (told.type === "run") {
      tell({ type: "run", run: (told as StreamEvent).data });
      void queries.invalidateQueries({ queryKey: ["runs"] });
    }
  };
  let leave: (() => void) | undefined;
  const close = () => {
    leave?.();
    leave = undefined;
    clearTimeout(silence);
    setLive(false);
  };
  const open = () => {
    leave ??= share<Told>(`events ${nameOfView()}`, { hold: follow, hear });
  };
  const look = () => {
    if (document.hidden) return close();
    if (!leave) refresh();
    open();
  };
  const page = globalThis.document;
  if (!page?.hidden) open();
  page?.addEventListener("visibilitychange", look);
  whenTenantChanges(() => {
    close();
    if (!page?.hidden) open();
  });
  return () => {
    whenTenantChanges(() => undefined);
    page?.removeEventListener("visibilitychange", look);
    clearTimeout(timer);
    close();
  };
}

/** Keeps a connection, again and again, until it is told to stop. What happened while there was none was not told. */
function follow(tell: (told: Told) => void, isHeir: boolean): () => void {
  const stopped = new AbortController();
  const connect = async (hasGap: boolean) => {
    const silent = new AbortController();
    let silence = setTimeout(() => silent.abort(), SILENT_MS);
    const signal = AbortSignal.any([stopped.signal, silent.signal]);
    try {
      const headers = { Accept: "text/event-stream" };
      const response = await send(address("/api/v1/events", { topics: TOPICS }), { headers, signal });
      tell({ type: hasGap ? "again" : "open" });
      for await (const event of eventsOf(response)) {
        clearTimeout(silence);
        silence = setTimeout(() => silent.abort(), SILENT_MS);
        tell(event);
      }
    } catch {
      // Nobody answers, or whoever asks was signed out, and has been told.
    } finally {
      clearTimeout(silence);
    }
  };
  const keep = async () => {
    for (let hasGap = isHeir; !stopped.signal.aborted; hasGap = true) {
      await connect(hasGap);
      if (stopped.signal.aborted) return;
      tell({ type: "lost" });
      await new Promise((done) => setTimeout(done, RETRY_MS));
    }
  };
  void keep();
  return () => stopped.abort();
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
