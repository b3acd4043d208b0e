// Flows: graphs of tools that are run as one.
import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { flows } from "../../api/flows";
import { useMay } from "../../api/session";
import type { Flow } from "../../api/types";
import { StateBadge } from "../../catalog/badges";
import { type Column, Header, Link, LinkButton, List, Loaded, Muted, Stack } from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";

const text = (flow: Flow) => `${flow.id} ${flow.name}`;
const id = (flow: Flow) => flow.id;

export default function Flows() {
  const words = useWords();
  const format = useFormat();
  const may = useMay();
  const all = useQuery(flows);
  const columns: Column<Flow>[] = [
    {
      id: "name",
      label: words.field.name,
      cell: (flow) => (
        <>
          <Link to={`/ui/flows/${flow.id}`}>{flow.name}</Link> <Muted small>{flow.id}</Muted>
        </>
      ),
    },
    { id: "version", label: words.flows.published, cell: (flow) => flow.current ?? words.state.draft },
    {
      id: "status",
      label: words.field.status,
      cell: (flow) => <StateBadge state={flow.enabled ? "enabled" : "disabled"} />,
    },
    { id: "updated", label: words.field.updated, kind: "nowrap", cell: (flow) => format.time(flow.updated_at) },
  ];
  return (
    <Stack>
      <Header title={words.nav.flows}>
        <LinkButton to="/ui/approvals">{words.things.approvals.many}</LinkButton>
        {may("manage") && (
          <LinkButton look="primary" to="/ui/flows/new" icon={<Plus size={16} aria-hidden />}>
            {words.things.flows.add}
          </LinkButton>
        )}
      </Header>
      <Loaded query={all}>
        {(rows) => (
          <List
            things={words.things.flows}
            rows={rows}
            columns={columns}
            id={id}
            text={text}
            empty={words.flows.empty}
          />
        )}
      </Loaded>
    </Stack>
  );
}
