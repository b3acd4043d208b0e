// What has been said, as the stream of an agent's run tells it. Pure, so that it can be tested.
import type { AgentEvent } from "../../api/agents";

export type ToolCall = {
  name: string;
  state: string;
  path?: string;
  arguments?: unknown;
  result?: unknown;
  record?: string;
};
export type Turn = {
  from: "me" | "agent";
  text: string;
  calls: ToolCall[];
  error?: string;
  waits?: boolean;
  isStopped?: boolean;
};

type Data = Record<string, unknown>;

/** The agent's turn after one more event. */
export function after(turn: Turn, { type, data }: AgentEvent): Turn {
  if (type === "text") return { ...turn, text: turn.text + String(data.text ?? "") };
  if (type === "step" && (data.kind === "tool" || data.kind === "approval"))
    return { ...turn, calls: withCall(turn.calls, data) };
  if (type === "end") return ended(turn, data);
  return turn;
}

function withCall(calls: ToolCall[], data: Data): ToolCall[] {
  const name = String(data.name ?? data.tool ?? data.uri ?? "");
  const call: ToolCall = {
    name,
    state: String(data.state ?? stateOf(data)),
    path: data.path as string | undefined,
    arguments: data.arguments,
    result: data.result ?? data.error,
  };
  // A call that was approved is the one that waited; else only an event that says how one ended is about a known one.
  const before = call.state === "running" ? "waiting" : "running";
  const isSame = (one: ToolCall) => (before === "waiting" ? one.path === call.path : one.name === name);
  const known = call.state === "waiting" ? -1 : calls.findLastIndex((one) => one.state === before && isSame(one));
  return known >= 0 ? calls.with(known, { ...calls[known], ...dropEmpty(call) }) : [...calls, call];
}

function stateOf(data: Data): string {
  if (data.kind === "approval") return "waiting";
  return data.result === undefined && data.error === undefined ? "running" : "succeeded";
}

function dropEmpty(call: ToolCall): ToolCall {
  return Object.fromEntries(Object.entries(call).filter(([, value]) => value !== undefined)) as ToolCall;
}

function ended(turn: Turn, data: Data): Turn {
  const structured = (data.structuredContent ?? {}) as Data;
  const content = Array.isArray(data.content) ? (data.content as { text?: string }[]) : [];
  const said = content.map((item) => item.text ?? "").join("\n");
  const answer = String(structured.answer ?? said);
  const waits = structured.state === "waiting";
  // Whatever still waits when all is over was not approved.
  const last: Record<string, string> = { running: "succeeded", waiting: waits ? "waiting" : "refused" };
  const calls = turn.calls.map((call) => ({ ...call, state: last[call.state] ?? call.state }));
  if (data.isError) return { ...turn, calls, error: said || String((data.error as Data)?.code ?? "") };
  return { ...turn, calls, text: answer || turn.text, waits };
}

/** The turn that somebody has stopped: what went on has ended with it. */
export function stopped(turn: Turn): Turn {
  return {
    ...turn,
    isStopped: true,
    calls: turn.calls.map((call) => (call.state === "running" ? { ...call, state: "cancelled" } : call)),
  };
}

type OnRecord = { id: string; tool: string; status: string; arguments?: unknown; node?: string | null };

const stateOn = (record: OnRecord) => (record.status === "ok" ? "succeeded" : "failed");

/** The same with what is on record of the calls, the oldest of which comes first. */
export function withRecords(turn: Turn, records: OnRecord[]): Turn {
  const left = [...records];
  const calls = turn.calls.map((call) => {
    const at = left.findIndex((record) => record.tool === call.name);
    const [found] = at < 0 ? [] : left.splice(at, 1);
    if (!found) return call;
    return { ...call, state: stateOn(found), arguments: call.arguments ?? found.arguments, record: found.id };
  });
  return { ...turn, calls };
}

export function runOf({ data }: AgentEvent): string | null {
  const structured = data.structuredContent as Data | undefined;
  const run = structured?.run ?? data.run;
  return typeof run === "string" ? run : null;
}

export function conversationOf({ data }: AgentEvent): string | null {
  const structured = data.structuredContent as Data | undefined;
  return typeof structured?.conversation === "string" ? structured.conversation : null;
}

/** What was said in a conversation, as its turns, with the calls of their runs. That of the agent itself has no node. */
export function turnsOf(items: { prompt: string; answer: string; calls: OnRecord[] }[]): Turn[] {
  return items.flatMap(({ prompt, answer, calls }): Turn[] => [
    { from: "me", text: prompt, calls: [] },
    { from: "agent", text: answer, calls: calls.filter(({ node }) => node).map(fromRecord) },
  ]);
}

const fromRecord = (record: OnRecord): ToolCall => ({
  name: record.tool,
  state: stateOn(record),
  arguments: record.arguments,
  record: record.id,
});
