// The editor of a flow: one text, drawn twice, with one stack of undo.
import { useNavigate } from "@tanstack/react-router";
import { Redo2, Undo2 } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { messageAt } from "../../api/error";
import { remove, setEnabled } from "../../api/flows";
import { useMay } from "../../api/session";
import type { Flow } from "../../api/types";
import { ActionErrors, useAction } from "../../form/action";
import { ConflictDialog } from "../../form/conflict";
import {
  Button,
  DeleteButton,
  Header,
  LinkButton,
  Mono,
  Note,
  PageTabs,
  Row,
  Stack,
  SwitchField,
  TextField,
} from "../../kit";
import { useWords } from "../../words";
import { AddStep } from "./add-step";
import { Drawing } from "./drawing";
import { RunButton } from "./run-button";
import { Runs } from "./runs";
import { Triggers } from "./triggers";
import { type FlowDraft, useFlowDraft } from "./use-draft";
import { type FlowRun, useRun } from "./use-run";
import { FlowVersions } from "./versions";
import { FlowYaml } from "./yaml";

export function FlowEditor({ flow, source }: { flow: Flow | null; source: string }) {
  const words = useWords();
  const draft = useFlowDraft(flow, source);
  const run = useRun();
  const [selected, setSelected] = useState<string | null>(null);
  const canEdit = useMay()("manage");
  const onKeyDown = (event: KeyboardEvent) => {
    // What lies over the page, like a dialog, has its own undo; to React it stands inside of us.
    const isOurs = event.currentTarget.contains(event.target as Node);
    if (!isOurs || !canEdit || !(event.ctrlKey || event.metaKey)) return;
    const key = event.key.toLowerCase();
    const act = key === "z" ? (event.shiftKey ? draft.redo : draft.undo) : key === "y" ? draft.redo : null;
    if (event.key === "Enter" || key === "s") draft.save();
    else if (!act) return;
    event.preventDefault();
    act?.();
  };
  const add = (uri: string) => setSelected(draft.addStep(uri));
  const drawing = () => <Drawing {...{ draft, run, selected, canEdit }} onSelect={setSelected} />;
  const yaml = () => <FlowYaml draft={draft} canEdit={canEdit} />;
  const known = flow
    ? [
        { id: "runs", label: words.things.runs.many, body: () => <Runs flow={flow.id} /> },
        { id: "triggers", label: words.flows.triggers, body: () => <Triggers flow={flow} canEdit={canEdit} /> },
        { id: "versions", label: words.tools.versions, body: () => <FlowVersions flow={flow} text={draft.text} /> },
      ]
    : [];
  return (
    <div onKeyDownCapture={onKeyDown}>
      <Stack>
        <Header title={flow?.name ?? words.flows.new}>{canEdit && <Actions draft={draft} run={run} />}</Header>
        {!flow && <NewId draft={draft} />}
        {canEdit && <Tools draft={draft} run={run} onAdd={add} />}
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
        {/* Rarely wanted, and out of the way of what one does all day. */}
        {flow && <Life of={flow} canEdit={canEdit} />}
        <ConflictDialog {...draft.conflict} />
      </Stack>
    </div>
  );
}

/** Whether new runs may begin, and the end of it. */
function Life({ of, canEdit }: { of: Flow; canEdit: boolean }) {
  const words = useWords();
  const navigate = useNavigate();
  const enable = useAction((isOn: boolean) => setEnabled(of.id, isOn), words.done.saved);
  const gone = useAction(async () => {
    await remove(of.id);
    navigate({ to: "/ui/flows" });
  }, words.done.deleted);
  return (
    <>
      <Row at="between">
        <Row>
          <Mono>{`flow://${of.id}`}</Mono>
          <SwitchField
            label={words.field.enabled}
            checked={of.enabled}
            disabled={!canEdit || enable.isBusy}
            onChecked={(isOn) => enable.run(isOn)}
          />
        </Row>
        {canEdit && <DeleteButton what={of.name} detail={words.ask.deleteFlow} onDelete={() => gone.run()} />}
      </Row>
      <ActionErrors of={enable} />
      <ActionErrors of={gone} />
    </>
  );
}

function NewId({ draft }: { draft: FlowDraft }) {
  const words = useWords();
  const problems = [...draft.saving.problems, ...draft.publishing.problems];
  const error = messageAt(problems, "id");
  return (
    <TextField label={words.field.id} hint={words.flows.idHint} error={error} value={draft.id} onValue={draft.setId} />
  );
}

type Parts = { draft: FlowDraft; run: FlowRun };

function Actions({ draft, run }: Parts) {
  const words = useWords();
  return (
    <>
      <RunButton draft={draft} run={run} />
      <Button disabled={draft.saving.isBusy} onClick={draft.save}>
        {words.act.save}
      </Button>
      <Button look="primary" disabled={draft.publishing.isBusy} onClick={draft.publish}>
        {words.flows.publish}
      </Button>
    </>
  );
}

function Tools({ draft, run, onAdd }: Parts & { onAdd: (uri: string) => void }) {
  const words = useWords();
  return (
    <Row>
      <AddStep onAdd={onAdd} disabled={draft.isBroken} />
      <Button icon={<Undo2 size={14} aria-hidden />} disabled={!draft.canUndo} onClick={draft.undo}>
        {words.flows.undo}
      </Button>
      <Button icon={<Redo2 size={14} aria-hidden />} disabled={!draft.canRedo} onClick={draft.redo}>
        {words.flows.redo}
      </Button>
      {run.id && <LinkButton to={`/ui/runs/${run.id}`}>{words.flows.openRun}</LinkButton>}
      {run.id && <Button onClick={run.close}>{words.flows.closeRun}</Button>}
    </Row>
  );
}
