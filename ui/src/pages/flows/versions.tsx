// The published versions of a flow, and what the draft changes.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { flowVersion, flowVersions, rollBack } from "../../api/flows";
import { useMay } from "../../api/session";
import type { Flow } from "../../api/types";
import { useNames } from "../../catalog/names";
import { Diff } from "../../editor";
import { ActionErrors, useAction } from "../../form/action";
import { Button, type Column, Empty, Loaded, Region, Stack, Table } from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";

type Version = { version: number; at: string; published_by: string };

export function FlowVersions({ flow, text }: { flow: Flow; text: string }) {
  const words = useWords();
  const format = useFormat();
  const may = useMay();
  const nameOf = useNames();
  const all = useQuery(flowVersions(flow.id));
  const [shown, setShown] = useState<{ version: number; source: string } | null>(null);
  const compare = useAction(async (version: number) => {
    const { source } = await flowVersion(flow.id, version);
    setShown({ version, source: source ?? "" });
  });
  const back = useAction((version: number) => rollBack(flow.id, version), words.done.published);
  const columns: Column<Version>[] = [
    { id: "version", label: words.field.version, cell: (row) => row.version },
    { id: "at", label: words.field.at, cell: (row) => format.time(row.at) },
    { id: "by", label: words.field.by, cell: (row) => nameOf(row.published_by) },
    {
      id: "compare",
      label: words.tools.compare,
      cell: (row) => <Button onClick={() => compare.run(row.version)}>{words.tools.compare}</Button>,
    },
    {
      id: "back",
      label: words.act.rollBack,
      cell: (row) =>
        row.version !== flow.current &&
        may("manage") && <Button onClick={() => back.run(row.version)}>{words.act.rollBack}</Button>,
    },
  ];
  return (
    <Stack>
      <ActionErrors of={back} />
      <ActionErrors of={compare} />
      <Loaded query={all}>
        {(rows) =>
          rows.length > 0 ? (
            <Table label={words.tools.versions} columns={columns} rows={rows} id={(row) => String(row.version)} />
          ) : (
            <Empty title={words.flows.unpublished} />
          )
        }
      </Loaded>
      {shown && (
        <Region title={words.flows.difference(shown.version)}>
          <Diff
            label={words.tools.compare}
            before={shown.source}
            after={text}
            onlyBefore={words.tools.only(shown.version)}
            onlyAfter={words.flows.onlyDraft}
          />
        </Region>
      )}
    </Stack>
  );
}
