// One run: what each step did, what went in and what came out, as it happens.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { callsBySteps } from "../../api/calls";
import { act, followedRun, isOver } from "../../api/flows";
import { useMay } from "../../api/session";
import type { Run, RunStep } from "../../api/types";
import { adviceFor, Bar, pretty } from "../../catalog/answer";
import { StateBadge } from "../../catalog/badges";
import { ActionErrors, useAction } from "../../form/action";
import {
  Button,
  Code,
  type Column,
  Header,
  Link,
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
import { Replay, Signal } from "./run-actions";

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
          <div>
            <LinkButton to="/ui/approvals">{words.things.approvals.many}</LinkButton>
          </div>
        </Note>
      )}
      <Region title={words.flows.steps}>
        <Steps rows={steps} run={of.id} />
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
      {goesOn && of.flow && <Signal run={of.id} />}
      {!goesOn && of.flow && <Replay run={of.id} flow={of.flow} />}
    </>
  );
}

const at = (time: string) => new Date(time).getTime();
/** When a step was over; one that goes on has been going on until now. */
const endOf = (step: RunStep) => (step.ended_at ? at(step.ended_at) : Date.now());

function Steps({ rows, run }: { rows: RunStep[]; run: string }) {
  const words = useWords();
  const format = useFormat();
  const hasFailed = rows.some((step) => step.state === "failed" && step.uri);
  const { data: calls } = useQuery({ ...callsBySteps(run), enabled: hasFailed });
  const begin = Math.min(...rows.map((step) => at(step.started_at)));
  const whole = Math.max(1, Math.max(...rows.map(endOf)) - begin);
  const took = (step: RunStep) => (step.ended_at ? format.duration((endOf(step) - at(step.started_at)) * 1000) : "");
  const kinds = words.stepKinds as Record<string, string>;
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
    {
      id: "timeline",
      label: words.runs.timeline,
      cell: (step) => (
        <Bar
          from={(at(step.started_at) - begin) / whole}
          width={(endOf(step) - at(step.started_at)) / whole}
          isFailed={step.state === "failed"}
        />
      ),
    },
    {
      id: "result",
      label: words.flows.result,
      cell: (step) => <StepResult step={step} call={calls?.get(step.path)} />,
    },
  ];
  return <Table label={words.flows.steps} columns={columns} rows={rows} id={(step) => `${step.seq}`} />;
}

function StepResult({ step, call }: { step: RunStep; call: string | undefined }) {
  const words = useWords();
  const text = step.error ? `${step.error.code}: ${step.error.message}` : pretty(step.result);
  const result = (
    <details>
      <summary>{step.error ? step.error.code : words.flows.show}</summary>
      <Code>{text}</Code>
    </details>
  );
  if (!step.error || !call) return result;
  return (
    <Stack gap="tight">
      {result}
      <Link to={`/ui/calls/${call}`}>{words.trying.inspect}</Link>
    </Stack>
  );
}
