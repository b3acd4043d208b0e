// The runs of a flow.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { runs } from "../../api/flows";
import type { RunSummary } from "../../api/types";
import { StateBadge } from "../../catalog/badges";
import { type Column, Empty, Link, Loaded, Pager, Stack, Table } from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";

export function Runs({ flow }: { flow: string }) {
  const words = useWords();
  const format = useFormat();
  const [page, setPage] = useState(1);
  const query = useQuery({ ...runs({ flow, page }), refetchInterval: 5_000, placeholderData: (old) => old });
  const columns: Column<RunSummary>[] = [
    { id: "id", label: words.field.id, cell: (run) => <Link to={`/ui/runs/${run.id}`}>{run.id}</Link> },
    { id: "state", label: words.field.status, cell: (run) => <StateBadge state={run.state} /> },
    { id: "version", label: words.field.version, cell: (run) => run.version ?? words.state.draft },
    { id: "by", label: words.field.by, cell: (run) => run.started_by },
    { id: "at", label: words.field.at, kind: "nowrap", cell: (run) => format.time(run.created_at) },
  ];
  return (
    <Loaded query={query}>
      {({ items, total, limit }) =>
        total > 0 ? (
          <Stack>
            <Table label={words.things.runs.many} columns={columns} rows={items} id={(run) => run.id} />
            <Pager page={page} total={total} limit={limit} onPage={setPage} />
          </Stack>
        ) : (
          <Empty title={words.things.runs.none} />
        )
      }
    </Loaded>
  );
}
