// What is done to a run from outside: a signal that it may wait for, and the same once more.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { messageAt } from "../../api/error";
import { replay, signal } from "../../api/flows";
import { ActionErrors, useAction } from "../../form/action";
import { JsonEditor } from "../../form/json";
import { useIsWhole } from "../../form/whole";
import { Button, Dialog, Muted, Row, Stack, TextField } from "../../kit";
import { useWords } from "../../words";

export function Replay({ run, flow }: { run: string; flow: string }) {
  const words = useWords();
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  const action = useAction(() => replay(run));
  const go = async () => {
    const next = await action.run();
    if (!next) return;
    setOpen(false);
    navigate({ to: `/ui/runs/${next.id}` });
  };
  return (
    <>
      <Button onClick={() => setOpen(true)}>{words.runs.replay}</Button>
      <Dialog title={words.runs.replay} open={isOpen} onClose={() => setOpen(false)} onSubmit={go}>
        <Stack>
          <p>{words.runs.replayAsk(flow)}</p>
          <ActionErrors of={action} />
          <Row at="end">
            <Button look="primary" disabled={action.isBusy} onClick={go}>
              {words.act.run}
            </Button>
          </Row>
        </Stack>
      </Dialog>
    </>
  );
}

type Draft = { name: string; key?: unknown; data?: unknown };

export function Signal({ run }: { run: string }) {
  const words = useWords();
  const isWhole = useIsWhole();
  const [isOpen, setOpen] = useState(false);
  const [draft, setDraft] = useState<Draft>({ name: "" });
  const action = useAction(async ({ name, ...body }: Draft) => {
    await signal(run, name, body);
    return true;
  }, words.runs.sent);
  const go = async () => {
    if (!isWhole() || draft.name === "" || !(await action.run(draft))) return;
    setOpen(false);
    setDraft({ name: "" });
  };
  return (
    <>
      <Button onClick={() => setOpen(true)}>{words.runs.signal}</Button>
      <Dialog title={words.runs.signal} open={isOpen} onClose={() => setOpen(false)} onSubmit={go}>
        <Stack>
          <TextField
            label={words.runs.signalName}
            required
            value={draft.name}
            error={messageAt(action.problems, "name")}
            onValue={(name) => setDraft({ ...draft, name })}
          />
          <JsonEditor
            label={words.runs.signalKey}
            value={draft.key}
            error={messageAt(action.problems, "key")}
            onValue={(key) => setDraft({ ...draft, key })}
          />
          <Muted small>{words.runs.signalKeyHint}</Muted>
          <JsonEditor
            label={words.runs.signalData}
            value={draft.data}
            onValue={(data) => setDraft({ ...draft, data })}
          />
          <ActionErrors of={action} />
          <Row at="end">
            <Button look="primary" disabled={action.isBusy || draft.name === ""} onClick={go}>
              {words.act.run}
            </Button>
          </Row>
        </Stack>
      </Dialog>
    </>
  );
}
