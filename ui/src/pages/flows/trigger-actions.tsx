// What is done to one trigger: the run that it would start, and another secret for those who send to it.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { fire, rotateSecret } from "../../api/flows";
import type { Trigger } from "../../api/types";
import { KeyDialog } from "../../catalog/key-dialog";
import { ActionErrors, useAction } from "../../form/action";
import { JsonEditor } from "../../form/json";
import { useSignedOut } from "../../form/secrets";
import { useIsWhole } from "../../form/whole";
import { Button, DeleteButton, Dialog, Muted, Row, Stack } from "../../kit";
import { useWords } from "../../words";

type Props = { flow: string; of: Trigger };

export function TriggerActions({ flow, of }: Props) {
  return (
    <Row>
      <Fire flow={flow} of={of} />
      {of.type === "webhook" && <Rotate flow={flow} of={of} />}
    </Row>
  );
}

function Fire({ flow, of }: Props) {
  const words = useWords();
  const navigate = useNavigate();
  const isWhole = useIsWhole();
  const [isOpen, setOpen] = useState(false);
  const [event, setEvent] = useState<unknown>({});
  const action = useAction(() => fire(flow, of.name, event ?? {}));
  const go = async () => {
    const run = isWhole() && (await action.run());
    if (run) navigate({ to: `/ui/runs/${run.id}` });
  };
  return (
    <>
      <Button aria-label={words.runs.fireOne(of.name)} onClick={() => setOpen(true)}>
        {words.runs.fire}
      </Button>
      <Dialog title={words.runs.fireOne(of.name)} open={isOpen} onClose={() => setOpen(false)} onSubmit={go}>
        <Stack>
          <JsonEditor label={words.runs.event} value={event} onValue={setEvent} />
          <Muted small>{words.runs.eventHint}</Muted>
          <ActionErrors of={action} />
          <Row at="end">
            <Button look="primary" disabled={action.isBusy} onClick={go}>
              {words.runs.fire}
            </Button>
          </Row>
        </Stack>
      </Dialog>
    </>
  );
}

function Rotate({ flow, of }: Props) {
  const words = useWords();
  const [secret, setSecret] = useState<string | null>(null);
  useSignedOut(() => setSecret(null));
  const action = useAction(() => rotateSecret(flow, of.name), words.done.saved);
  const rotate = async () => setSecret((await action.run())?.secret ?? null);
  return (
    <>
      <DeleteButton
        what={of.name}
        label={words.runs.rotate}
        question={words.runs.rotateOne(of.name)}
        detail={words.runs.rotateAsk}
        onDelete={rotate}
      />
      <ActionErrors of={action} />
      <KeyDialog value={secret} label={words.runs.secret} onClose={() => setSecret(null)} />
    </>
  );
}
