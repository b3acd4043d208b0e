// The runs of a flow.
import { useQuery } from "@tanstack/react-query";
import { runs } from "../../api/flows";
import type { RunSummary } from "../../api/types";
import { StateBadge } from "../../catalog/badges";
import { type Column, Empty, Link, Loaded, Table } from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";

export function Runs({ flow }: { flow: string }) {
  const words = useWords();
  const format = useFormat();
  const query = useQuery({ ...runs({ flow }), refetchInterval: 5_000 });
  const columns: Column<RunSummary>[] = [
    { id: "id", label: words.field.id, cell: (run) => <Link to={`/ui/runs/${run.id}`}>{run.id}</Link> },
    { id: "state", label: words.field.status, cell: (run) => <StateBadge state={run.state} /> },
    { id: "version", label: words.field.version, cell: (run) => run.version ?? words.state.draft },
    { id: "by", label: words.field.by, cell: (run) => run.started_by },
    { id: "at", label: words.field.at, kind: "nowrap", cell: (run) => format.time(run.created_at) },
  ];
  return (
    <Loaded query={query}>
      {({ items }) =>
        items.length > 0 ? (
          <Table label={words.things.runs.many} columns={columns} rows={items} id={(run) => run.id} />
        ) : (
          <Empty title={words.things.runs.none} />
        )
      }
    </Loaded>
  );
}
