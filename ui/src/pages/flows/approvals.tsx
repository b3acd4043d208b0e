// What waits for somebody's word.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "../../api/error";
import { approvals, decide, run } from "../../api/flows";
import { useMay } from "../../api/session";
import type { Approval } from "../../api/types";
import { type FormValue, SchemaForm } from "../../form";
import { ActionErrors, useAction } from "../../form/action";
import { Apart, useIsWhole } from "../../form/whole";
import { Button, type Column, Empty, ErrorNote, Header, LinesField, Link, Loaded, Row, Stack, Table } from "../../kit";
import { useWords, type Words } from "../../words";
import { useFormat } from "../../words/format";
import { Question } from "./question";

export default function Approvals() {
  const words = useWords();
  const format = useFormat();
  const query = useQuery({ ...approvals, refetchInterval: 5_000 });
  // The row of whoever came too late is gone; what became of their word is not.
  const [late, setLate] = useState<Error | null>(null);
  const decision = (one: Approval) => (
    <Apart>
      <Decide one={one} onLate={setLate} />
    </Apart>
  );
  const columns: Column<Approval>[] = [
    { id: "title", label: words.flows.question, cell: (one) => <Question title={one.title} /> },
    { id: "run", label: words.flows.run, cell: (one) => <RunLink of={one} /> },
    { id: "by", label: words.flows.whoDecides, cell: (one) => whoDecides(one.by, words) },
    { id: "at", label: words.field.at, kind: "nowrap", cell: (one) => format.time(one.asked_at) },
    { id: "until", label: words.flows.until, kind: "nowrap", cell: (one) => one.until && format.time(one.until) },
    { id: "decide", label: words.flows.decision, cell: (one) => decision(one) },
  ];
  return (
    <Stack>
      <Header title={words.things.approvals.many} />
      {late && <ErrorNote error={late} />}
      <Loaded query={query}>
        {(rows) =>
          rows.length > 0 ? (
            <Table label={words.things.approvals.many} columns={columns} rows={rows} id={(one) => one.id} />
          ) : (
            <Empty title={words.things.approvals.none}>{words.flows.noApprovalsHint}</Empty>
          )
        }
      </Loaded>
    </Stack>
  );
}

/** The run by what it is a run of; the step says where it waits. */
function RunLink({ of }: { of: Approval }) {
  const { data } = useQuery(run(of.run_id));
  const name = data?.flow ?? data?.agent;
  return <Link to={`/ui/runs/${of.run_id}`}>{name ? `${name} › ${of.path}` : of.path}</Link>;
}

function whoDecides(by: Approval["by"], words: Words): string {
  if (Array.isArray(by)) return by.join(", ");
  if (typeof by === "object") return words.flows.otherManagers;
  return by === "managers" ? words.flows.managers : by;
}

function Decide({ one, onLate }: { one: Approval; onLate: (error: Error | null) => void }) {
  const words = useWords();
  const may = useMay();
  const [comment, setComment] = useState("");
  const [data, setData] = useState<FormValue>({});
  const fields = one.fields as FormValue | null | undefined;
  const word = async (decision: "approve" | "reject") => {
    onLate(null);
    const said = { decision, comment: comment || undefined, data: fields ? data : undefined };
    return decide(one.id, said).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 409) onLate(error);
      throw error;
    });
  };
  const isWhole = useIsWhole();
  const yes = useAction(() => word("approve"), words.done.approved);
  const no = useAction(() => word("reject"), words.done.rejected);
  if (!may("call")) return null;
  return (
    <Stack gap="tight">
      {fields && (
        <SchemaForm
          schema={fields}
          value={data}
          onValue={setData}
          problems={[...yes.problems, ...no.problems]}
          prefix="data"
        />
      )}
      <LinesField label={words.flows.comment} value={comment} onValue={setComment} />
      <Row>
        <Button look="primary" disabled={yes.isBusy || no.isBusy} onClick={() => isWhole() && yes.run()}>
          {words.act.approve}
        </Button>
        <Button disabled={yes.isBusy || no.isBusy} onClick={() => no.run()}>
          {words.act.reject}
        </Button>
      </Row>
      <ActionErrors of={yes} />
      <ActionErrors of={no} />
    </Stack>
  );
}
