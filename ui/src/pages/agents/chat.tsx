// The chat: what was said, tools with what they were told and answered, and a field for what comes next.
import { type FormEvent, useRef, useState } from "react";
import { converse } from "../../api/agents";
import { callsOfRun } from "../../api/calls";
import { useMay } from "../../api/session";
import { pretty } from "../../catalog/answer";
import { StateBadge } from "../../catalog/badges";
import { useKept } from "../../form/kept";
import { AreaField, Button, Card, Code, ErrorNote, Link, LinkButton, Note, Row, Stack, useSubmitKey } from "../../kit";
import css from "../../kit/show.module.css";
import { useWords } from "../../words";
import { after, conversationOf, runOf, type ToolCall, type Turn, withRecords } from "./turns";

export function Chat({ agent }: { agent: string }) {
  const words = useWords();
  const { turns, isBusy, error, send, stop } = useConversation(agent);
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
      {error && <ErrorNote error={error} />}
      <form onSubmit={onSubmit} onKeyDown={onKeyDown}>
        <Stack>
          <AreaField label={words.agents.message} value={text} onValue={setText} rows={3} />
          <Row at="end">
            {isBusy && <Button onClick={stop}>{words.act.stop}</Button>}
            {may("call") && (
              <Button look="primary" type="submit" disabled={isBusy}>
                {words.agents.send}
              </Button>
            )}
          </Row>
        </Stack>
      </form>
    </Stack>
  );
}

function useConversation(agent: string) {
  const [turns, setTurns] = useState<Turn[]>([]);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const conversation = useRef("new");
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
        setTurns((old) => old.with(-1, after(old.at(-1) as Turn, event)));
      }
      const records = run ? await callsOfRun(run) : [];
      setTurns((old) => old.with(-1, withRecords(old.at(-1) as Turn, records)));
    } catch (failure) {
      if ((failure as Error).name === "AbortError") return true;
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

function OneTurn({ turn }: { turn: Turn }) {
  const words = useWords();
  if (turn.from === "me") return <div className={css.mine}>{turn.text}</div>;
  return (
    <Stack gap="tight">
      {turn.calls.map((call, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls only ever come at the end
        <OneCall key={at} call={call} />
      ))}
      {turn.text && <div className={css.theirs}>{turn.text}</div>}
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
