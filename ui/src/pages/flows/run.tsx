// One run: what each step did, what went in and what came out, as it happens.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { act, followedRun, isOver } from "../../api/flows";
import { useMay } from "../../api/session";
import type { Run, RunStep } from "../../api/types";
import { adviceFor, pretty } from "../../catalog/answer";
import { StateBadge } from "../../catalog/badges";
import { ActionErrors, useAction } from "../../form/action";
import {
  Button,
  Code,
  type Column,
  Header,
  LinkButton,
  LoadedPage,
  Note,
  Region,
  Split,
  Stack,
  Table,
} from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";

export default function RunPage() {
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  const words = useWords();
  return (
    <LoadedPage title={words.things.runs.many} query={useQuery(followedRun(id))}>
      {(data) => <OneRun of={data.run} steps={data.steps} />}
    </LoadedPage>
  );
}

function OneRun({ of, steps }: { of: Run; steps: RunStep[] }) {
  const words = useWords();
  return (
    <Stack gap="loose">
      <Header title={words.flows.runOf(of.flow ?? of.agent ?? "")} badge={<StateBadge state={of.state} />}>
        <RunActions of={of} />
        {of.flow && <LinkButton to={`/ui/flows/${of.flow}`}>{words.flows.openFlow}</LinkButton>}
      </Header>
      {of.error && (
        <Note title={of.error.message}>
          <code>{of.error.code}</code>
          <p>{adviceFor(words, of.error.code)}</p>
        </Note>
      )}
      {of.waiting_for.some((wait) => wait.approval_id) && (
        <Note tone="warn" title={words.flows.waits}>
          <LinkButton to="/ui/approvals">{words.things.approvals.many}</LinkButton>
        </Note>
      )}
      <Region title={words.flows.steps}>
        <Steps rows={steps} />
      </Region>
      <Split>
        <Region title={words.flows.input}>
          <Code>{pretty(of.inputs)}</Code>
        </Region>
        <Region title={words.flows.output}>
          <Code>{pretty(of.output)}</Code>
        </Region>
      </Split>
    </Stack>
  );
}

function RunActions({ of }: { of: Run }) {
  const words = useWords();
  const may = useMay();
  const action = useAction((what: Parameters<typeof act>[1]) => act(of.id, what), words.done.saved);
  const goesOn = !isOver(of);
  if (!may("call")) return null;
  return (
    <>
      <ActionErrors of={action} />
      {goesOn && <Button onClick={() => action.run("cancel")}>{words.flows.cancelRun}</Button>}
      {goesOn && of.state !== "paused" && <Button onClick={() => action.run("pause")}>{words.flows.pauseRun}</Button>}
      {of.state === "paused" && <Button onClick={() => action.run("resume")}>{words.flows.resumeRun}</Button>}
      {of.state === "failed" && <Button onClick={() => action.run("retry")}>{words.flows.retryRun}</Button>}
    </>
  );
}

function Steps({ rows }: { rows: RunStep[] }) {
  const words = useWords();
  const format = useFormat();
  const took = (step: RunStep) =>
    step.ended_at
      ? format.duration((new Date(step.ended_at).getTime() - new Date(step.started_at).getTime()) * 1000)
      : "";
  const kinds = words.flows.kinds as Record<string, string>;
  const columns: Column<RunStep>[] = [
    { id: "path", label: words.flows.stepName, cell: (step) => step.path },
    { id: "state", label: words.field.status, cell: (step) => <StateBadge state={step.state} /> },
    {
      id: "uri",
      label: words.field.address,
      cell: (step) => (step.uri ? <code>{step.uri}</code> : (kinds[step.kind] ?? step.kind)),
    },
    { id: "at", label: words.field.at, kind: "nowrap", cell: (step) => format.clock(step.started_at) },
    { id: "took", label: words.field.duration, kind: "number", cell: took },
    { id: "result", label: words.flows.result, cell: (step) => <StepResult step={step} /> },
  ];
  return <Table label={words.flows.steps} columns={columns} rows={rows} id={(step) => `${step.seq}`} />;
}

function StepResult({ step }: { step: RunStep }) {
  const words = useWords();
  const text = step.error ? `${step.error.code}: ${step.error.message}` : pretty(step.result);
  return (
    <details>
      <summary>{step.error ? step.error.code : words.flows.show}</summary>
      <Code>{text}</Code>
    </details>
  );
}
