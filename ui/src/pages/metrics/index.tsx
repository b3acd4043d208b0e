// Metrics: how much, how often wrong, how fast.
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { stats } from "../../api/catalog";
import type { Series, Stats } from "../../api/types";
import { Chart, type Line } from "../../chart";
import { Button, type Column, Empty, Header, Loaded, Row, SelectField, Stack, Table, useAddress } from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";

const WINDOWS = { "900": 15, "3600": 60, "21600": 300, "86400": 1200, "604800": 7200 };
const SPLITS = ["tool", "service", "door", "caller"] as const;
const MOST_LINES = 6;

export default function Metrics() {
  const words = useWords();
  const [{ window = "3600", by = "" }, setAddress] = useAddress<"window" | "by">();
  const [asTable, setTable] = useState(false);
  const step = WINDOWS[window as keyof typeof WINDOWS] ?? 60;
  const query = useQuery(stats(by, Number(window), step));
  const windows = Object.keys(WINDOWS).map((value) => ({ value, label: words.metrics.windows[value as "900"] }));
  const splits = SPLITS.map((value) => ({ value, label: words.metrics.splits[value] }));
  return (
    <Stack>
      <Header title={words.nav.metrics}>
        <Button onClick={() => setTable(!asTable)}>{asTable ? words.act.showAsGraph : words.act.showAsTable}</Button>
      </Header>
      <Row>
        <SelectField
          label={words.metrics.window}
          value={window}
          options={windows}
          onValue={(value) => setAddress({ window: value })}
        />
        <SelectField
          label={words.metrics.split}
          value={by}
          options={[{ value: "", label: words.metrics.together }, ...splits]}
          onValue={(value) => setAddress({ by: value })}
        />
      </Row>
      <Loaded query={query}>{(data) => (asTable ? <Numbers data={data} /> : <Figures data={data} />)}</Loaded>
    </Stack>
  );
}

const sum = (values: (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0);

function startOf(from: string | number): number {
  return typeof from === "number" ? from : new Date(from).getTime() / 1000;
}

function Figures({ data }: { data: Stats }) {
  const words = useWords();
  const { times, busiest } = useMemo(() => {
    const busiest = [...data.series].sort((a, b) => sum(b.calls) - sum(a.calls)).slice(0, MOST_LINES);
    const length = Math.max(0, ...busiest.map((series) => series.calls.length));
    const times = Array.from({ length }, (_, at) => startOf(data.from) + at * data.step_s);
    return { times, busiest };
  }, [data]);
  const lines = (pick: (series: Series) => (number | null)[], suffix = ""): Line[] =>
    busiest.map((series) => ({ name: `${series.key || words.metrics.together}${suffix}`, values: pick(series) }));
  const latency = [...lines((series) => series.p50_ms, " p50"), ...lines((series) => series.p95_ms, " p95")];
  if (busiest.length === 0) return <Empty title={words.things.calls.none} />;
  return (
    <Stack gap="loose">
      <Chart label={words.metrics.calls} times={times} lines={lines((series) => series.calls)} />
      <Chart label={words.metrics.errors} times={times} lines={lines((series) => series.errors)} />
      <Chart label={words.metrics.latency} times={times} lines={latency} />
    </Stack>
  );
}

/** Percentiles of steps make none of the window; the slowest step is what one looks for in a table. */
const highest = (values: (number | null)[]) =>
  values.reduce<number | null>((most, value) => (value !== null && value > (most ?? -1) ? value : most), null);

function Numbers({ data }: { data: Stats }) {
  const words = useWords();
  const format = useFormat();
  const columns: Column<Series>[] = [
    { id: "key", label: words.field.name, cell: (series) => series.key || words.metrics.together },
    { id: "calls", label: words.metrics.calls, kind: "number", cell: (series) => format.number(sum(series.calls)) },
    { id: "errors", label: words.metrics.errors, kind: "number", cell: (series) => format.number(sum(series.errors)) },
    {
      id: "refused",
      label: words.metrics.refused,
      kind: "number",
      cell: (series) => format.number(sum(series.refused)),
    },
    {
      id: "p50",
      label: words.metrics.slowest(words.metrics.p50),
      kind: "number",
      cell: (series) => format.number(highest(series.p50_ms)),
    },
    {
      id: "p95",
      label: words.metrics.slowest(words.metrics.p95),
      kind: "number",
      cell: (series) => format.number(highest(series.p95_ms)),
    },
    { id: "bytes", label: words.field.size, kind: "number", cell: (series) => format.bytes(sum(series.bytes)) },
  ];
  return <Table label={words.nav.metrics} columns={columns} rows={data.series} id={(series) => series.key} />;
}
