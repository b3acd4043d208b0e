// "Run": tries the draft as it is drawn, with inputs where it has some.
import { Play } from "lucide-react";
import { useState } from "react";
import { type FormValue, SchemaForm } from "../../form";
import { ActionErrors, useAction } from "../../form/action";
import { JsonEditor } from "../../form/json";
import { useIsWhole } from "../../form/whole";
import { Button, Dialog, LocalTabs, Row, Stack } from "../../kit";
import { useWords } from "../../words";
import type { FlowDraft } from "./use-draft";
import type { FlowRun } from "./use-run";

export function RunButton({ draft, run }: { draft: FlowDraft; run: FlowRun }) {
  const words = useWords();
  const [isOpen, setOpen] = useState(false);
  const [inputs, setInputs] = useState<FormValue>({});
  const action = useAction(async () => {
    const saved = await draft.saveForRun();
    if (saved) await run.begin(saved.id, inputs);
    setOpen(false);
  });
  const isWhole = useIsWhole();
  const go = () => void (isWhole() && action.run());
  const { inputs: schema } = draft.graph;
  const ask = () => (schema ? void (isWhole() && setOpen(true)) : go());
  const form = () => (
    <SchemaForm
      schema={schema ?? {}}
      value={inputs}
      onValue={setInputs}
      problems={action.problems.map(({ path, ...problem }) => ({ ...problem, path: path.replace(/^inputs\./, "") }))}
    />
  );
  const json = () => (
    <JsonEditor label={words.flows.inputs} value={inputs} onValue={(next) => setInputs((next ?? {}) as FormValue)} />
  );
  return (
    <>
      <Button icon={<Play size={14} aria-hidden />} disabled={action.isBusy} onClick={ask}>
        {words.act.run}
      </Button>
      {!isOpen && <ActionErrors of={action} />}
      <Dialog title={words.flows.inputs} open={isOpen} onClose={() => setOpen(false)} onSubmit={go}>
        <Stack>
          <LocalTabs
            label={words.flows.inputs}
            tabs={[
              { id: "form", label: words.form.form, body: form },
              { id: "json", label: words.form.json, body: json },
            ]}
          />
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
