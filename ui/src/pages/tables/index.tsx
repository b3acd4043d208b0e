// Tables: JSON documents, uploaded or made by tools.
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Upload as UploadIcon } from "lucide-react";
import { useState } from "react";
import { useMay } from "../../api/session";
import { tables, upload } from "../../api/tables";
import type { Table } from "../../api/types";
import { ActionErrors, useAction } from "../../form/action";
import {
  Button,
  type Column,
  Dialog,
  Field,
  Header,
  Link,
  List,
  Loaded,
  Row,
  Stack,
  TextField,
  useAddress,
} from "../../kit";
import control from "../../kit/control.module.css";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";

const text = (table: Table) => `${table.name} ${table.description ?? ""}`;
const id = (table: Table) => table.id;

export default function Tables() {
  const words = useWords();
  const format = useFormat();
  const may = useMay();
  const all = useQuery(tables);
  const [{ upload: asked }, setAddress] = useAddress<"upload">();
  const columns: Column<Table>[] = [
    { id: "name", label: words.field.name, cell: (table) => <Link to={`/ui/tables/${table.id}`}>{table.name}</Link> },
    { id: "description", label: words.field.description, cell: (table) => table.description },
    { id: "size", label: words.field.size, kind: "number", cell: (table) => format.bytes(table.size_bytes) },
    { id: "version", label: words.field.version, kind: "number", cell: (table) => table.version },
    { id: "updated", label: words.field.updated, kind: "nowrap", cell: (table) => format.time(table.updated_at) },
  ];
  const add = may("make_tools") && (
    <Button look="primary" icon={<UploadIcon size={16} aria-hidden />} onClick={() => setAddress({ upload: "1" })}>
      {words.tables.upload}
    </Button>
  );
  return (
    <Stack>
      <Header title={words.nav.tables}>{add}</Header>
      <Loaded query={all}>
        {(rows) => (
          <List
            things={words.things.tables}
            rows={rows}
            columns={columns}
            id={id}
            text={text}
            empty={words.tables.empty}
          />
        )}
      </Loaded>
      <UploadDialog open={!!asked} onClose={() => setAddress({ upload: undefined })} />
    </Stack>
  );
}

function UploadDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = useWords();
  const navigate = useNavigate();
  const [file, setFile] = useState<File | null>(null);
  const [name, setName] = useState("");
  const action = useAction(() => upload(name, file as File), words.done.saved);
  const choose = (chosen: File | undefined) => {
    setFile(chosen ?? null);
    if (chosen && !name) setName(chosen.name.replace(/\.[^.]+$/, ""));
  };
  const send = async () => {
    const made = await action.run();
    if (made) navigate({ to: `/ui/tables/${made.id}` });
  };
  return (
    <Dialog title={words.tables.upload} open={open} onClose={onClose}>
      <Stack>
        <Field label={words.tables.file} hint={words.tables.fileHint}>
          {(described) => (
            <input
              {...described}
              type="file"
              className={control.input}
              accept=".json,.csv,.jsonl,.ndjson"
              onChange={(event) => choose(event.target.files?.[0])}
            />
          )}
        </Field>
        <TextField label={words.field.name} required value={name} onValue={setName} />
        <ActionErrors of={action} />
        <Row at="end">
          <Button look="primary" disabled={action.isBusy || !file || !name} onClick={send}>
            {words.tables.upload}
          </Button>
        </Row>
      </Stack>
    </Dialog>
  );
}
