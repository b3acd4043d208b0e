// Calls: who called what, through which door, and how it ended; new ones as they come.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Pause, Play } from "lucide-react";
import { useEffect, useState } from "react";
import { type CallFilter, calls, exportAddress } from "../../api/calls";
import { hear } from "../../api/events";
import { useMay } from "../../api/session";
import type { Call } from "../../api/types";
import { StateBadge } from "../../catalog/badges";
import { Download } from "../../catalog/download";
import { Button, type Column, Empty, Header, Link, Loaded, Muted, Pager, Stack, Table, useAddress } from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";
import { Filters } from "./filters";

type Fields = keyof CallFilter | "page";
const REFRESH_MS = 1000;

export default function Calls() {
  const words = useWords();
  const may = useMay();
  const [address, setAddress] = useAddress<Fields>();
  const [isPaused, setPaused] = useState(false);
  const { page = "1", ...rest } = address;
  const filter = pick(rest);
  // Whatever happens meanwhile, what is looked at stays; what was never shown is asked for all the same.
  const enabled = ({ state }: { state: { data?: unknown } }) => !isPaused || state.data === undefined;
  const query = useQuery({ ...calls(filter, Number(page)), enabled, placeholderData: (old) => old });
  useRefresh(isPaused);
  const Icon = isPaused ? Play : Pause;
  return (
    <Stack>
      <Header title={words.nav.calls}>
        <Button icon={<Icon size={14} aria-hidden />} aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {words.calls.pause}
        </Button>
        {may("manage") && (
          <Download href={exportAddress(filter)} name="calls.csv">
            {words.act.export}
          </Download>
        )}
      </Header>
      <Filters filter={filter} onFilter={(changes) => setAddress({ ...changes, page: undefined })} />
      <Loaded query={query}>
        {(data) => (
          <Stack>
            <CallTable
              rows={data.items}
              isFiltered={Object.keys(filter).length > 0}
              isOfChanges={filter.kind === "management"}
            />
            <Pager
              page={Number(page)}
              total={data.total}
              limit={data.limit}
              onPage={(next) => setAddress({ page: String(next) })}
            />
          </Stack>
        )}
      </Loaded>
    </Stack>
  );
}

const NAMES = ["tool", "service", "caller", "door", "status", "code", "from", "to", "request_id", "kind"] as const;

function pick(address: Partial<Record<string, string>>): CallFilter {
  return Object.fromEntries(NAMES.filter((name) => address[name]).map((name) => [name, address[name]]));
}

/** New calls are asked for at most once a second. */
function useRefresh(isPaused: boolean) {
  const queries = useQueryClient();
  useEffect(() => {
    if (isPaused) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = hear((event) => {
      if (event.type !== "call" || timer) return;
      timer = setTimeout(() => {
        timer = undefined;
        void queries.invalidateQueries({ queryKey: ["calls"] });
      }, REFRESH_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [isPaused, queries]);
}

type TableProps = { rows: Call[]; isFiltered: boolean; isOfChanges: boolean };

function CallTable({ rows, isFiltered, isOfChanges }: TableProps) {
  const words = useWords();
  const format = useFormat();
  const columns: Column<Call>[] = [
    { id: "at", label: words.field.at, kind: "nowrap", cell: (call) => format.time(call.at) },
    {
      id: "tool",
      label: isOfChanges ? words.audit.what : words.calls.tool,
      cell: (call) => <Link to={`/ui/calls/${call.id}`}>{call.tool}</Link>,
    },
    { id: "status", label: words.field.status, cell: (call) => <StateBadge state={call.status} /> },
    { id: "code", label: words.calls.code, kind: "nowrap", cell: (call) => call.code && <code>{call.code}</code> },
    { id: "service", label: words.field.service, cell: (call) => call.service },
    { id: "door", label: words.calls.door, cell: (call) => call.door },
    { id: "caller", label: words.calls.caller, cell: (call) => <Muted small>{call.caller_name ?? call.caller}</Muted> },
    { id: "took", label: words.field.duration, kind: "number", cell: (call) => format.duration(call.duration_us) },
  ];
  if (rows.length === 0) return <Empty title={isFiltered ? words.state.nothingFound : words.things.calls.none} />;
  return <Table label={words.things.calls.many} columns={columns} rows={rows} id={(call) => call.id} />;
}
