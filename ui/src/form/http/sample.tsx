// "Fetch a sample": really calls the tool once, and takes its raw answer as the sample.
import { useState } from "react";
import { call } from "../../api/catalog";
import { trial } from "../../api/tools";
import { Button, Dialog, Row, Stack, TextField } from "../../kit";
import { useWords } from "../../words";
import { ActionErrors, useAction } from "../action";

export type SampleSource = { tool: string } | { uri: string };
type Props = { of: SampleSource; value: Record<string, unknown>; onSample: (text: string) => void };
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
  const action = useAction(() => fetchRaw(of, read(args, parameters)));
  const run = async () => {
    const raw = await action.run();
    if (raw === undefined) return;
    onSample(typeof raw === "string" ? raw : JSON.stringify(raw, null, 2));
    setOpen(false);
  };
  return (
    <>
      <Button onClick={() => (parameters.length ? setOpen(true) : run())}>{words.http.fetch}</Button>
      <Dialog title={words.http.fetch} open={isOpen} onClose={() => setOpen(false)} onSubmit={run}>
        <Stack>
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
      return [name, parameter_type === "String" || !parameter_type ? text : JSON.parse(text)];
    }),
  );
}
