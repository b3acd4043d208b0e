// How tables come to be: of a file, or empty.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { messageAt } from "../../api/error";
import { create, upload } from "../../api/tables";
import { ActionErrors, useAction } from "../../form/action";
import { Button, Dialog, Field, Row, Stack, TextField } from "../../kit";
import control from "../../kit/control.module.css";
import { useWords } from "../../words";

export function UploadDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = useWords();
  const navigate = useNavigate();
  const [file, setFile] = useState<File | null>(null);
  const [name, setName] = useState("");
  const action = useAction(() => upload(name, file as File), words.done.saved);
  const choose = (chosen: File | undefined) => {
    setFile(chosen ?? null);
    if (chosen && !name) setName(chosen.name.replace(/\.[^.]+$/, ""));
  };
  const error = (path: string) => messageAt(action.problems, path);
  const send = async () => {
    if (!file || action.isBusy) return;
    const made = await action.run();
    if (made) navigate({ to: `/ui/tables/${made.id}` });
  };
  return (
    <Dialog title={words.tables.upload} open={open} onClose={onClose} onSubmit={send}>
      <Stack>
        <Field label={words.tables.file} hint={words.tables.fileHint} error={error("data") ?? error("file")}>
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
        <TextField label={words.field.name} required value={name} error={error("name")} onValue={setName} />
        <ActionErrors of={action} />
        <Row at="end">
          <Button look="primary" disabled={action.isBusy || !file} onClick={send}>
            {words.tables.upload}
          </Button>
        </Row>
      </Stack>
    </Dialog>
  );
}

export function AddDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = useWords();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const action = useAction(() => create({ name, data: {} }), words.done.saved);
  const error = messageAt(action.problems, "name");
  const save = async () => {
    const made = await action.run();
    if (made) navigate({ to: `/ui/tables/${made.id}` });
  };
  return (
    <Dialog title={words.things.tables.add} open={open} onClose={onClose} onSubmit={save}>
      <Stack>
        <TextField label={words.field.name} required value={name} error={error} onValue={setName} />
        <ActionErrors of={action} />
        <Row at="end">
          <Button look="primary" disabled={action.isBusy} onClick={save}>
            {words.act.save}
          </Button>
        </Row>
      </Stack>
    </Dialog>
  );
}
