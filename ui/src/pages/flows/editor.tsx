// The editor of a flow: one text, drawn twice, with one stack of undo.
import { Redo2, Undo2 } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import type { Flow } from "../../api/types";
import { Editor } from "../../editor";
import { ActionErrors } from "../../form/action";
import { ConflictDialog } from "../../form/conflict";
import { Button, Header, LinkButton, Note, PageTabs, Row, Stack, TextField } from "../../kit";
import { useWords } from "../../words";
import { AddStep } from "./add-step";
import { Drawing } from "./drawing";
import { RunButton } from "./run-button";
import { Runs } from "./runs";
import { useFlowDraft } from "./use-draft";
import { useRun } from "./use-run";
import { FlowVersions } from "./versions";

export function FlowEditor({ flow, source }: { flow: Flow | null; source: string }) {
  const words = useWords();
  const draft = useFlowDraft(flow, source);
  const run = useRun();
  const [selected, setSelected] = useState<string | null>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!(event.ctrlKey || event.metaKey)) return;
    const key = event.key.toLowerCase();
    const act = key === "z" ? (event.shiftKey ? draft.redo : draft.undo) : key === "y" ? draft.redo : null;
    if (event.key === "Enter" || key === "s") draft.save();
    else if (!act) return;
    event.preventDefault();
    act?.();
  };
  const add = (uri: string) => setSelected(draft.addStep(uri));
  const drawing = () => <Drawing draft={draft} run={run} selected={selected} onSelect={setSelected} />;
  const yaml = () => (
    <Editor
      label={words.flows.yaml}
      language="yaml"
      value={draft.text}
      onValue={draft.type}
      marks={draft.marks}
      isTall
      hasHistory={false}
    />
  );
  const known = flow
    ? [
        { id: "runs", label: words.things.runs.many, body: () => <Runs flow={flow.id} /> },
        { id: "versions", label: words.tools.versions, body: () => <FlowVersions flow={flow} text={draft.text} /> },
      ]
    : [];
  return (
    <div onKeyDownCapture={onKeyDown}>
      <Stack>
        <Header title={flow?.name ?? words.flows.new}>
          <RunButton draft={draft} run={run} />
          <Button disabled={draft.saving.isBusy} onClick={draft.save}>
            {words.act.save}
          </Button>
          <Button look="primary" disabled={draft.publishing.isBusy} onClick={draft.publish}>
            {words.flows.publish}
          </Button>
        </Header>
        {!flow && <TextField label={words.field.id} hint={words.flows.idHint} value={draft.id} onValue={draft.setId} />}
        <Row>
          <AddStep onAdd={add} disabled={draft.isBroken} />
          <Button icon={<Undo2 size={14} aria-hidden />} disabled={!draft.canUndo} onClick={draft.undo}>
            {words.flows.undo}
          </Button>
          <Button icon={<Redo2 size={14} aria-hidden />} disabled={!draft.canRedo} onClick={draft.redo}>
            {words.flows.redo}
          </Button>
          {run.id && <LinkButton to={`/ui/runs/${run.id}`}>{words.flows.openRun}</LinkButton>}
        </Row>
        <ActionErrors of={draft.saving} />
        <ActionErrors of={draft.publishing} />
        {draft.isBroken && <Note tone="warn" title={words.flows.broken} live="status" />}
        <PageTabs
          label={words.nav.flows}
          tabs={[
            { id: "canvas", label: words.flows.canvas, body: drawing },
            { id: "yaml", label: words.flows.yaml, body: yaml },
            ...known,
          ]}
        />
        <ConflictDialog {...draft.conflict} />
      </Stack>
    </div>
  );
}
