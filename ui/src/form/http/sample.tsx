// "Fetch a sample": really calls the tool once, and takes its raw answer as the sample.
import { useState } from "react";
import { call } from "../../api/catalog";
import { readJson, writeJson } from "../../api/json";
import { trial } from "../../api/tools";
import { Button, Dialog, Muted, Row, Stack, TextField } from "../../kit";
import { useWords } from "../../words";
import { ActionErrors, useAction } from "../action";

export type SampleSource = { tool: string } | { uri: string };
/** The server calls what it knows: something new is saved first, and then it is known where. */
export type Sampled = SampleSource | (() => Promise<SampleSource | undefined>);
type Props = { of: Sampled; value: Record<string, unknown>; onSample: (text: string) => void };
type Parameter = { name?: string; required?: boolean; parameter_type?: string };

/** What came from the service itself, before anything was made of it. */
async function fetchRaw(of: SampleSource, args: Record<string, unknown>): Promise<unknown> {
  if ("tool" in of) return (await trial(of.tool, args)).raw.body;
  const { inspection, structuredContent, content } = await call(of.uri, args);
  const raw = inspection?.raw as { body?: unknown } | null | undefined;
  return raw?.body ?? raw ?? structuredContent ?? content;
}

export function FetchSample({ of, value, onSample }: Props) {
  const words = useWords();
  const [isOpen, setOpen] = useState(false);
  const [args, setArgs] = useState<Record<string, string>>({});
  const parameters = ((value.parameters ?? []) as Parameter[]).filter((parameter) => parameter.name);
  const action = useAction(async () => {
    const source = typeof of === "function" ? await of() : of;
    return source ? { raw: await fetchRaw(source, read(args, parameters)) } : null;
  });
  const run = async () => {
    const fetched = await action.run();
    if (fetched === undefined) return;
    // What could not be saved says why at its fields, which are below the dialog.
    setOpen(false);
    if (fetched) onSample(typeof fetched.raw === "string" ? fetched.raw : writeJson(fetched.raw, 2));
  };
  return (
    <>
      <Button onClick={() => (parameters.length || typeof of === "function" ? setOpen(true) : run())}>
        {words.http.fetch}
      </Button>
      <Dialog title={words.http.fetch} open={isOpen} onClose={() => setOpen(false)} onSubmit={run}>
        <Stack>
          {typeof of === "function" && <Muted>{words.http.savedFirst}</Muted>}
          {parameters.map(({ name = "", required }) => (
            <TextField
              key={name}
              label={name}
              required={required}
              value={args[name] ?? ""}
              onValue={(text) => setArgs({ ...args, [name]: text })}
            />
          ))}
          <ActionErrors of={action} />
          <Row at="end">
            <Button look="primary" disabled={action.isBusy} onClick={run}>
              {words.act.run}
            </Button>
          </Row>
        </Stack>
      </Dialog>
      {!isOpen && <ActionErrors of={action} />}
    </>
  );
}

function read(args: Record<string, string>, parameters: Parameter[]): Record<string, unknown> {
  const given = parameters.filter(({ name = "" }) => args[name]);
  return Object.fromEntries(
    given.map(({ name = "", parameter_type }) => {
      const text = args[name] ?? "";
      return [name, parameter_type === "String" || !parameter_type ? text : literal(text)];
    }),
  );
}

/** What is no JSON is sent as it was typed: the server says what is wrong with it. */
function literal(text: string): unknown {
  try {
    return readJson(text);
  } catch {
    return text;
  }
}
