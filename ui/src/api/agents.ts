// Agents: services of type `agent`, asked in a conversation whose answer comes as it is written.
import { queryOptions } from "@tanstack/react-query";
import { callsOfRun } from "./calls";
import { address, ask, client, send } from "./client";
import { ApiError } from "./error";
import { runEvents } from "./flows";
import { writeJson } from "./json";
import { get } from "./raw";
import { eventsOf, type StreamEvent } from "./stream";
import type { Agent } from "./types";

export const agents = queryOptions({
  queryKey: ["agents"],
  queryFn: async () => (await get<{ items: Agent[] }>("/agents")).items,
});

export type AgentEvent = StreamEvent;

/** What was said, and what was called for each answer, as far as whoever asks may see it. */
export const conversation = (id: string) =>
  queryOptions({
    queryKey: ["conversations", id],
    queryFn: async () => {
      const { items } = await ask(client.GET("/api/v1/conversations/{id}", { params: { path: { id } } }));
      return Promise.all(items.map(async (item) => ({ ...item, calls: await callsOfRun(item.run).catch(() => []) })));
    },
    // What is said from here on is known without asking.
    staleTime: Number.POSITIVE_INFINITY,
  });

/**
 * Asks in a conversation. Where agents keep none, the server refuses that word; then what was said before goes along as
 * context, so that the agent knows of it all the same.
 */
export async function* converse(id: string, asked: Prompt, signal: AbortSignal): AsyncGenerator<AgentEvent> {
  const { prompt, conversation, said } = asked;
  try {
    yield* askAgent(id, { prompt, conversation }, signal);
  } catch (error) {
    const isRefused = error instanceof ApiError && (error.status === 400 || error.status === 422);
    if (!isRefused) throw error;
    yield* askAgent(id, said.length > 0 ? { prompt, context: { said } } : { prompt }, signal);
  }
}

export type Prompt = { prompt: string; conversation: string; said: { from: string; text: string }[] };

/** Asks, and hands on the server's events one by one until the answer has ended. */
async function* askAgent(id: string, body: object, signal: AbortSignal): AsyncGenerator<AgentEvent> {
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
  const path = address(`/api/v1/agents/${encodeURIComponent(id)}/runs`);
  const response = await send(path, { method: "POST", headers, body: writeJson(body), signal });
  yield* eventsOf(response);
}

const RETRY_MS = 3000;

/** A run from its beginning to its end, however often the connection is lost meanwhile. */
export async function* followRun(run: string, signal: AbortSignal): AsyncGenerator<AgentEvent> {
  let last: string | undefined;
  while (!signal.aborted) {
    try {
      const response = await send(runEvents(run), { signal, headers: last ? { "Last-Event-ID": last } : {} });
      if (response.status === 204) return;
      for await (const event of eventsOf(response)) {
        yield event;
        if (event.type === "end") return;
        last = event.id ?? last;
      }
    } catch (error) {
      // What is refused will be refused again.
      if (!(error instanceof ApiError) || (error.status >= 400 && error.status < 500)) throw error;
    }
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
}
