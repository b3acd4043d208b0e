// How the states of services, tools, calls and runs look.
import { Badge, type Tone } from "../kit";
import { stateWord, useWords } from "../words";

const tones: Record<string, Tone> = {
  ok: "ok",
  active: "ok",
  enabled: "ok",
  succeeded: "ok",
  pinned: "ok",
  pass: "ok",
  failing: "fail",
  error: "fail",
  failed: "fail",
  fail: "fail",
  missing: "fail",
  refused: "warn",
  held: "warn",
  testing: "warn",
  changed: "warn",
  warn: "warn",
  warning: "warn",
  waiting: "warn",
  paused: "warn",
  running: "busy",
  queued: "busy",
  cancelling: "busy",
  new: "busy",
};

export function StateBadge({ state }: { state: string | null | undefined }) {
  const words = useWords();
  const known = state ?? "unknown";
  return <Badge tone={tones[known] ?? "idle"}>{stateWord(words, known)}</Badge>;
}

/** Health comes as a word or with its reason. */
export function healthOf(health: { state: string } | string | null | undefined): string {
  return typeof health === "string" ? health : (health?.state ?? "unknown");
}
