// The chat: what was said, tools with what they were told and answered, and a field for what comes next.
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { conversation, converse, followRun } from "../../api/agents";
import { callsOfRun } from "../../api/calls";
import { useMay } from "../../api/session";
import { pretty } from "../../catalog/answer";
import { StateBadge } from "../../catalog/badges";
import { useKept } from "../../form/kept";
import {
  AreaField,
  Button,
  Card,
  Code,
  ErrorNote,
  Link,
  LinkButton,
  Loaded,
  Muted,
  Note,
  Row,
  Stack,
  useAddress,
  useSubmitKey,
  visible,
} from "../../kit";
import css from "../../kit/show.module.css";
import { useWords } from "../../words";
import { after, conversationOf, runOf, stopped, type ToolCall, type Turn, turnsOf, withRecords } from "./turns";

/** What was said before is in the address, so that whoever comes back goes on with it. */
export function Chat({ agent }: { agent: string }) {
  const [{ conversation: id }] = useAddress<"conversation">();
  const [known] = useState(id);
  const before = useQuery({ ...conversation(known ?? ""), enabled: !!known });
  if (!known) return <Talk agent={agent} first={[]} />;
  return <Loaded query={before}>{(items) => <Talk agent={agent} first={turnsOf(items)} />}</Loaded>;
}

function Talk({ agent, first }: { agent: string; first: Turn[] }) {
  const words = useWords();
  const { turns, isBusy, error, send, stop } = useConversation(agent, first);
  const [text, setText] = useKept({
    place: ["agents", agent],
    begin: () => "",
    isEdited: (typed) => typed !== "",
  });
  const may = useMay();
  const submit = async () => {
    if (!text.trim() || isBusy || !may("call")) return;
    setText("");
    // What never came to the agent can be sent again, before whatever was typed meanwhile.
    if (!(await send(text))) setText((typed) => (typed ? `${text}\n${typed}` : text));
  };
  const onKeyDown = useSubmitKey(submit);
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    submit();
  };
  return (
    <Stack>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <div role="log" aria-label={words.agents.conversation} className={css.log} tabIndex={0}>
        {turns.map((turn, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: turns only ever come at the end
          <OneTurn key={at} turn={turn} />
        ))}
      </div>
      {isBusy && <StateBadge state="running" />}
      {error && <ErrorNote error={error} />}
      <form onSubmit={onSubmit} onKeyDown={onKeyDown}>
        <Stack>
          <AreaField label={words.agents.message} value={text} onValue={setText} rows={3} />
          <Row>
            {may("call") && (
              <Button look="primary" type="submit" disabled={isBusy}>
                {words.agents.send}
              </Button>
            )}
            {isBusy && <Button onClick={stop}>{words.act.stop}</Button>}
          </Row>
        </Stack>
      </form>
    </Stack>
  );
}

function useConversation(agent: string, first: Turn[]) {
  const [turns, setTurns] = useState<Turn[]>(first);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [{ conversation: known = "new" }, setAddress] = useAddress<"conversation">();
  const conversation = useRef(known);
  const follow = useFollowed((at, turn) => setTurns((old) => old.with(at, turn)));
  const stopper = useRef<AbortController | null>(null);
  /** Whether the agent heard it. */
  const send = async (prompt: string): Promise<boolean> => {
    const controller = new AbortController();
    stopper.current = controller;
    setBusy(true);
    setError(null);
    setTurns((old) => [...old, { from: "me", text: prompt, calls: [] }, { from: "agent", text: "", calls: [] }]);
    let run: string | null = null;
    let isHeard = false;
    let turn: Turn = { from: "agent", text: "", calls: [] };
    try {
      const said = turns.map(({ from, text }) => ({ from, text }));
      for await (const event of converse(
        agent,
        { prompt, conversation: conversation.current, said },
        controller.signal,
      )) {
        isHeard = true;
        conversation.current = conversationOf(event) ?? conversation.current;
        run = runOf(event) ?? run;
        turn = after(turn, event);
        setTurns((old) => old.with(-1, turn));
      }
      if (conversation.current !== known) setAddress({ conversation: conversation.current });
      const records = run ? await callsOfRun(run) : [];
      setTurns((old) => old.with(-1, withRecords(turn, records)));
      if (run && turn.waits) void follow(run, turns.length + 1);
    } catch (failure) {
      if ((failure as Error).name === "AbortError") {
        setTurns((old) => old.with(-1, stopped(turn)));
        return true;
      }
      setError(failure as Error);
      // What was said to nobody is not part of the conversation.
      if (!isHeard) setTurns((old) => old.slice(0, -2));
      return isHeard;
    } finally {
      setBusy(false);
    }
    return true;
  };
  return { turns, isBusy, error, send, stop: () => stopper.current?.abort() };
}

/** Shows in its turn what becomes of a run that waits for somebody's word. */
function useFollowed(show: (at: number, turn: Turn) => void) {
  const stopper = useRef<AbortController | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    stopper.current = controller;
    return () => controller.abort();
  }, []);
  return async (run: string, at: number) => {
    let turn: Turn = { from: "agent", text: "", calls: [] };
    try {
      for await (const event of followRun(run, (stopper.current as AbortController).signal)) {
        turn = after(turn, event);
        show(at, { ...turn, waits: event.type !== "end" });
      }
      show(at, withRecords(turn, await callsOfRun(run)));
    } catch {
      // The link to the approvals stays; the run itself can be opened there.
    }
  };
}

function OneTurn({ turn }: { turn: Turn }) {
  const words = useWords();
  if (turn.from === "me") return <div className={css.mine}>{visible(turn.text)}</div>;
  return (
    <Stack gap="tight">
      {turn.calls.map((call, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls only ever come at the end
        <OneCall key={at} call={call} />
      ))}
      {turn.text && <div className={css.theirs}>{visible(turn.text)}</div>}
      {turn.isStopped && <Muted>{words.trying.stopped}</Muted>}
      {turn.error && <Note title={turn.error} />}
      {turn.waits && <LinkButton to="/ui/approvals">{words.things.approvals.many}</LinkButton>}
    </Stack>
  );
}

function OneCall({ call }: { call: ToolCall }) {
  const words = useWords();
  return (
    // biome-ignore lint/a11y/useSemanticElements: a call is no fieldset
    <div role="group" aria-label={words.agents.call(call.name)}>
      <Card quiet>
        <details>
          <summary>
            {call.name} <StateBadge state={call.state} />
          </summary>
          <Stack gap="tight">
            {call.arguments !== undefined && <Code>{pretty(call.arguments)}</Code>}
            {call.result !== undefined && <Code>{pretty(call.result)}</Code>}
            {call.record && <Link to={`/ui/calls/${call.record}`}>{words.trying.inspect}</Link>}
          </Stack>
        </details>
      </Card>
    </div>
  );
}
