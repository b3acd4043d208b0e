// What flows from doors through tools to services, as a picture or as a table.
import { useState } from "react";
import type { Overview, TrafficNode } from "../../api/types";
import { healthOf, StateBadge } from "../../catalog/badges";
import { Button, type Column, Empty, Region, Table } from "../../kit";
import { useNarrow } from "../../kit/narrow";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";
import { Graph } from "./graph";

export function Traffic({ data }: { data: Overview }) {
  const words = useWords();
  const isNarrow = useNarrow();
  const [choice, setChoice] = useState<boolean | null>(null);
  const asTable = choice ?? isNarrow;
  const isEmpty = data.tools.length + data.services.length + data.doors.length === 0;
  const toggle = (
    <Button onClick={() => setChoice(!asTable)}>{asTable ? words.act.showAsGraph : words.act.showAsTable}</Button>
  );
  return (
    <Region title={words.home.graph} actions={!isEmpty && toggle}>
      {isEmpty && <Empty title={words.home.quiet} />}
      {!isEmpty && (asTable ? <TrafficTable data={data} /> : <Graph data={data} />)}
    </Region>
  );
}

type Line = TrafficNode & { part: string };

function TrafficTable({ data }: { data: Overview }) {
  const words = useWords();
  const format = useFormat();
  const lines: Line[] = [
    ...data.doors.map((node) => ({ ...node, part: words.nav.doors })),
    ...data.tools.map((node) => ({ ...node, part: words.nav.tools })),
    ...data.services.map((node) => ({ ...node, part: words.nav.services })),
  ];
  const columns: Column<Line>[] = [
    { id: "part", label: words.field.kind, cell: (line) => line.part },
    { id: "name", label: words.field.name, cell: (line) => line.name },
    {
      id: "health",
      label: words.field.health,
      cell: (line) => line.health && <StateBadge state={healthOf(line.health)} />,
    },
    { id: "calls", label: words.metrics.calls, kind: "number", cell: (line) => format.number(line.calls) },
    { id: "errors", label: words.metrics.errors, kind: "number", cell: (line) => format.number(line.errors) },
    { id: "p95", label: words.metrics.p95, kind: "number", cell: (line) => format.number(line.p95_ms) },
  ];
  return <Table label={words.home.traffic} columns={columns} rows={lines} id={(line) => `${line.part} ${line.id}`} />;
}
