// What a call answered, as text that is never HTML, and how long each step took.

import { readJson, writeJson } from "../api/json";
import type { CallAnswer, Inspection, Step } from "../api/types";
import { Code, type Column, Muted, Note, Region, Stack, Table } from "../kit";
import css from "../kit/show.module.css";
import { useWords, type Words } from "../words";
import { useFormat } from "../words/format";
import { StateBadge } from "./badges";

/** Longer texts are cut on the page; the export and the copy have them whole. */
const SHOWN_CHARACTERS = 200_000;

export function pretty(value: unknown): string {
  const text = typeof value === "string" ? indent(value) : writeJson(value ?? null, 2);
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

/** JSON in a text is easier to read with lines. */
function indent(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return writeJson(readJson(text), 2);
  } catch {
    return text;
  }
}

/** What to do about a code; every code has its advice. */
export function adviceFor(words: Words, code: string | null | undefined): string {
  return (words.advice as unknown as Record<string, string>)[code ?? ""] ?? words.advice.OTHER;
}

export function Answer({ answer }: { answer: CallAnswer }) {
  const words = useWords();
  const texts = answer.content.map((item, at) => ({ at, item }));
  return (
    <Region title={words.trying.answer}>
      {answer.isError && (
        <Note title={answer.error?.code ?? words.state.failed} live="alert">
          <p>{adviceFor(words, answer.error?.code)}</p>
        </Note>
      )}
      <Stack gap="tight">
        {texts.map(({ at, item }) => (
          <Content key={at} item={item} />
        ))}
      </Stack>
    </Region>
  );
}

function Content({ item }: { item: Record<string, unknown> }) {
  if (item.type === "text") return <Code>{pretty(item.text)}</Code>;
  const isPicture =
    item.type === "image" &&
    typeof item.data === "string" &&
    /^image\/(png|jpeg|gif|webp)$/.test(String(item.mimeType));
  if (isPicture) return <img alt="" src={`data:${item.mimeType};base64,${item.data}`} style={{ maxWidth: "100%" }} />;
  return <Code>{pretty(item)}</Code>;
}

type Inspected = { inspection: Inspection | null | undefined };

/** With it the call came to the tool. One that was turned away has a request as well: what would have been sent. */
const isCall = ({ name }: Step) => name === "call";

/** Why there is nothing to show of the answer. */
function whyNoAnswer({ inspected }: Words, inspection: Inspection | null | undefined): string {
  if (!inspection) return inspected.notKept;
  const called = inspection.steps.find(isCall);
  if (!called) return inspected.nothingSent;
  if (!inspection.status) return inspected.noAnswer;
  return called.error ? inspected.brokeOff(inspection.status) : inspected.emptyAnswer;
}

function whyNoRequest({ inspected }: Words, inspection: Inspection | null | undefined): string {
  if (!inspection) return inspected.notKept;
  return inspection.steps.some(isCall) ? inspected.noRequest : inspected.nothingToSend;
}

export function RawAnswer({ inspection }: Inspected) {
  const words = useWords();
  return (
    <Region title={words.trying.raw}>
      {inspection?.raw === undefined || inspection.raw === null ? (
        <Muted>{whyNoAnswer(words, inspection)}</Muted>
      ) : (
        <Code>{pretty(inspection.raw)}</Code>
      )}
    </Region>
  );
}

export function Request({ inspection }: Inspected) {
  const words = useWords();
  return (
    <Region title={words.trying.request}>
      {inspection?.request === undefined || inspection.request === null ? (
        <Muted>{whyNoRequest(words, inspection)}</Muted>
      ) : (
        <Code>{pretty(inspection.request)}</Code>
      )}
    </Region>
  );
}

/** The steps with a failure that none of them has: then it is the tool itself that answered with it. */
export function blamed(steps: Step[], failure: string | null | undefined): Step[] {
  if (!failure || steps.some((step) => step.error)) return steps;
  return steps.map((step) => (step.name === "call" ? { ...step, error: failure } : step));
}

/** When something was, as a part of the whole from 0 to 1. */
export function Bar({ from, width, isFailed }: { from: number; width: number; isFailed: boolean }) {
  // What took no time is seen all the same, and stays inside.
  const left = `min(${100 * from}%, calc(100% - var(--s1) / 2))`;
  return (
    <div className={css.share}>
      <div
        className={`${css.bar} ${isFailed ? css.fail : ""}`}
        style={{ marginInlineStart: left, width: `${100 * width}%` }}
      />
    </div>
  );
}

export function Timing({ steps, label }: { steps: Step[]; label: string }) {
  const words = useWords();
  const format = useFormat();
  const nameOf = (name: string) => (words.trying.stepNames as Record<string, string>)[name] ?? name;
  const total = Math.max(
    1,
    steps.reduce((sum, step) => sum + step.us, 0),
  );
  // One begins where those before it have ended.
  const begins = new Map(steps.map((step, at) => [step, steps.slice(0, at).reduce((sum, { us }) => sum + us, 0)]));
  const columns: Column<Step>[] = [
    { id: "name", label: words.trying.step, kind: "nowrap", cell: (step) => nameOf(step.name) },
    { id: "state", label: words.field.status, cell: (step) => <StateBadge state={step.error ? "failed" : "ok"} /> },
    { id: "us", label: words.field.duration, kind: "number", cell: (step) => format.duration(step.us) },
    {
      id: "bar",
      label: words.trying.share,
      cell: (step) => <Bar from={(begins.get(step) ?? 0) / total} width={step.us / total} isFailed={!!step.error} />,
    },
    { id: "error", label: words.field.message, kind: "wide", cell: (step) => step.error },
  ];
  return <Table label={label} columns={columns} rows={steps} id={(step) => step.name} />;
}
