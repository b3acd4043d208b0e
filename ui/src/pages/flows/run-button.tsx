// "Run": tries the draft as it is drawn, with inputs where it has some.
import { Play } from "lucide-react";
import { useState } from "react";
import { ActionErrors, useAction } from "../../form/action";
import { JsonEditor } from "../../form/json";
import { Button, Dialog, Row, Stack } from "../../kit";
import { useWords } from "../../words";
import type { FlowDraft } from "./use-draft";
import type { FlowRun } from "./use-run";

export function RunButton({ draft, run }: { draft: FlowDraft; run: FlowRun }) {
  const words = useWords();
  const [isOpen, setOpen] = useState(false);
  const [inputs, setInputs] = useState<unknown>({});
  const action = useAction(async () => {
    const saved = await draft.saveForRun();
    if (saved) await run.begin(saved.id, (inputs ?? {}) as object);
    setOpen(false);
  });
  const ask = () => (draft.graph.hasInputs ? setOpen(true) : void action.run());
  return (
    <>
      <Button icon={<Play size={14} aria-hidden />} disabled={action.isBusy} onClick={ask}>
        {words.act.run}
      </Button>
      {!isOpen && <ActionErrors of={action} />}
      <Dialog title={words.flows.inputs} open={isOpen} onClose={() => setOpen(false)} onSubmit={() => action.run()}>
        <Stack>
          <JsonEditor label={words.flows.inputs} value={inputs} onValue={setInputs} />
          <ActionErrors of={action} />
          <Row at="end">
            <Button look="primary" disabled={action.isBusy} onClick={() => action.run()}>
              {words.act.run}
            </Button>
          </Row>
        </Stack>
      </Dialog>
    </>
  );
}
