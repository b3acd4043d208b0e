// Tries a tool: arguments as a form or as JSON, then the answer beside what really came and how long it took.
import { useQuery } from "@tanstack/react-query";
import { Play, Square } from "lucide-react";
import { type FormEvent, useRef, useState } from "react";
import { call, inputSchema } from "../api/catalog";
import type { Problem } from "../api/error";
import { useMay } from "../api/session";
import type { CallAnswer, ToolEntry } from "../api/types";
import { SchemaForm } from "../form";
import { ActionErrors, useAction } from "../form/action";
import { JsonEditor } from "../form/json";
import { useKept } from "../form/kept";
import { kindOf, resolve, type Schema } from "../form/schema";
import { withoutSecrets } from "../form/secrets";
import { useIsWhole } from "../form/whole";
import { Button, Card, Link, Loaded, LocalTabs, Muted, Row, Split, Stack, useSubmitKey } from "../kit";
import { useWords } from "../words";
import { Answer, blamed, RawAnswer, Request, Timing } from "./answer";

type Args = Record<string, unknown>;

export function TryPanel({ entry, first }: { entry: ToolEntry; first?: Args }) {
  const words = useWords();
  const may = useMay();
  const schema = useQuery(inputSchema(entry, may));
  const [{ args }, setKept] = useKept<{ args: Args; ran: string }>({
    place: ["try", entry.uri, JSON.stringify(first)],
    begin: () => ({ args: first ?? {}, ran: JSON.stringify(first ?? {}) }),
    isEdited: (typed) => JSON.stringify(typed.args) !== JSON.stringify(first ?? {}),
    bare: (typed) => ({ ...typed, args: withoutSecrets(typed.args, schema.data ?? {}, first) }),
    // What was called is on record, and no loss.
    asks: (typed) => JSON.stringify(typed.args) !== typed.ran,
  });
  const setArgs = (args: Args) => setKept((old) => ({ ...old, args }));
  const [answer, setAnswer] = useState<CallAnswer | null>(null);
  const stopper = useRef<AbortController | null>(null);
  const action = useAction(() => {
    stopper.current = new AbortController();
    return call(entry.uri, args, stopper.current.signal);
  });
  const isWhole = useIsWhole();
  const run = async () => {
    if (!may("call") || !isWhole()) return;
    setAnswer(null);
    setKept((old) => ({ ...old, ran: JSON.stringify(old.args) }));
    setAnswer((await action.run()) ?? null);
  };
  const isStopped = action.error?.name === "AbortError";
  const onKeyDown = useSubmitKey(run);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!action.isBusy) run();
  };
  return (
    <Stack gap="loose">
      <form aria-label={words.trying.args} onSubmit={submit} onKeyDown={onKeyDown}>
        <Card>
          <Stack>
            <Loaded query={schema}>
              {(known) => <Arguments schema={known} value={args} onValue={setArgs} problems={action.problems} />}
            </Loaded>
            <Row>
              {may("call") && (
                <Button look="primary" type="submit" disabled={action.isBusy} icon={<Play size={14} aria-hidden />}>
                  {words.act.run}
                </Button>
              )}
              {action.isBusy && (
                <Button onClick={() => stopper.current?.abort()} icon={<Square size={14} aria-hidden />}>
                  {words.act.stop}
                </Button>
              )}
              {isStopped && <Muted>{words.trying.stopped}</Muted>}
            </Row>
          </Stack>
        </Card>
      </form>
      {!isStopped && <ActionErrors of={action} />}
      {answer && <Result answer={answer} />}
    </Stack>
  );
}

type ArgumentsProps = { schema: Schema | null; value: Args; onValue: (value: Args) => void; problems: Problem[] };

function Arguments({ schema, value, onValue, problems }: ArgumentsProps) {
  const words = useWords();
  const canDraw = schema && kindOf(resolve(schema, schema), schema) === "object";
  const json = {
    id: "json",
    label: words.form.json,
    body: () => <JsonEditor label={words.form.json} value={value} onValue={(next) => onValue((next ?? {}) as Args)} />,
  };
  const form = {
    id: "form",
    label: words.form.form,
    body: () =>
      canDraw ? (
        <SchemaForm schema={schema} value={value} onValue={onValue} problems={problems} />
      ) : (
        <Muted>{schema ? words.form.noArguments : words.form.unknownArguments}</Muted>
      ),
  };
  return <LocalTabs label={words.trying.args} tabs={[form, json]} />;
}

function Result({ answer }: { answer: CallAnswer }) {
  const words = useWords();
  const { inspection } = answer;
  const failure = answer.isError ? (answer.error?.code ?? words.state.failed) : null;
  return (
    <Stack gap="loose">
      <Split>
        <Answer answer={answer} />
        <RawAnswer inspection={inspection} />
      </Split>
      <Request inspection={inspection} />
      {inspection?.steps && <Timing label={words.trying.timing} steps={blamed(inspection.steps, failure)} />}
      {inspection?.audit_id && <Link to={`/ui/calls/${inspection.audit_id}`}>{words.trying.inspect}</Link>}
    </Stack>
  );
}
