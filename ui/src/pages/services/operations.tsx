// What an OpenAPI document holds: operations to choose from, warnings, and credentials to fill in.
import { useState } from "react";
import { messageAt, type Problem } from "../../api/error";
import type { ImportPreview } from "../../api/types";
import { ActionErrors } from "../../form/action";
import { useSignedOut } from "../../form/secrets";
import { Button, CheckField, type Column, Muted, Note, Row, Stack, Table, TextField } from "../../kit";
import { useWords } from "../../words";
import type { Choice } from "./import";

type Operation = { id: string; description?: string; method: string; endpoint: string };
type Credential = { setting: string; description?: string };
type Props = {
  preview: ImportPreview;
  onCreate: (choice: Choice) => void;
  creating: { isBusy: boolean; error: Error | null; problems: Problem[] };
};

export function Operations({ preview, onCreate, creating }: Props) {
  const words = useWords();
  const operations = preview.tools as Operation[];
  const [draft, setDraft] = useState({ id: preview.id, name: preview.name });
  const [left, setLeft] = useState<Set<string>>(new Set());
  const [credentials, setCredentials] = useState<Record<string, string>>({});
  useSignedOut(() => setCredentials({}));
  const chosen = operations.filter((operation) => !left.has(operation.id));
  const include = chosen.map((operation) => `${operation.method} ${operation.endpoint}`);
  const error = (path: string) => messageAt(creating.problems, path);
  return (
    <Stack>
      <TextField
        label={words.field.id}
        value={draft.id}
        error={error("id")}
        onValue={(id) => setDraft({ ...draft, id })}
      />
      <TextField
        label={words.field.name}
        value={draft.name}
        error={error("name")}
        onValue={(name) => setDraft({ ...draft, name })}
      />
      {(preview.credentials as unknown as Credential[]).map(({ setting, description }) => (
        <TextField
          key={setting}
          label={description ?? setting}
          hint={setting}
          type="password"
          autoComplete="new-password"
          error={error(`config.${setting}`)}
          value={credentials[setting] ?? ""}
          onValue={(value) => setCredentials({ ...credentials, [setting]: value })}
        />
      ))}
      <Warnings preview={preview} />
      <Chooser operations={operations} left={left} onLeft={setLeft} />
      <ActionErrors of={creating} />
      <Row>
        <Button
          look="primary"
          disabled={creating.isBusy || chosen.length === 0}
          onClick={() => onCreate({ ...draft, include, credentials })}
        >
          {words.act.create}
        </Button>
        <Muted>{words.services.chosen(chosen.length, operations.length)}</Muted>
      </Row>
    </Stack>
  );
}

function Warnings({ preview }: { preview: ImportPreview }) {
  const words = useWords();
  const skipped = preview.skipped as unknown as { operation: string; reason: string }[];
  const lines = [...preview.warnings, ...skipped.map(({ operation, reason }) => `${operation}: ${reason}`)];
  if (lines.length === 0) return null;
  return (
    <Note tone="warn" title={words.services.warnings(lines.length)}>
      <ul>
        {lines.slice(0, 50).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </Note>
  );
}

type ChooserProps = { operations: Operation[]; left: Set<string>; onLeft: (left: Set<string>) => void };

function Chooser({ operations, left, onLeft }: ChooserProps) {
  const words = useWords();
  const set = (id: string, isIn: boolean) => {
    const next = new Set(left);
    if (isIn) next.delete(id);
    else next.add(id);
    onLeft(next);
  };
  const columns: Column<Operation>[] = [
    {
      id: "id",
      label: words.field.name,
      cell: ({ id }) => <CheckField label={id} checked={!left.has(id)} onChecked={(isIn) => set(id, isIn)} />,
    },
    { id: "method", label: words.http.method, cell: (operation) => <code>{operation.method}</code> },
    { id: "endpoint", label: words.http.endpoint, cell: (operation) => <code>{operation.endpoint}</code> },
    { id: "summary", label: words.field.summary, cell: (operation) => operation.description },
  ];
  return (
    <Table label={words.services.operations} columns={columns} rows={operations} id={(operation) => operation.id} />
  );
}
