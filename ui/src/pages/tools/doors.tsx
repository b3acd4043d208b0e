// Behind which doors a Tool stands.
import { useQueries, useQuery } from "@tanstack/react-query";
import { bindings, doors } from "../../api/doors";
import type { Door, Tool } from "../../api/types";
import { StateBadge } from "../../catalog/badges";
import { type Column, Empty, Link, Loaded, Table } from "../../kit";
import { useWords } from "../../words";

type Line = { door: Door; isOn: boolean };

export function ToolDoors({ tool }: { tool: Tool }) {
  const words = useWords();
  const all = useQuery(doors);
  const bound = useQueries({ queries: (all.data ?? []).map((door) => bindings(door.id)) });
  const lines = (all.data ?? []).flatMap((door, at): Line[] => {
    const found = bound[at]?.data?.find((binding) => binding.tool_id === tool.id);
    return found ? [{ door, isOn: found.binding_status }] : [];
  });
  const columns: Column<Line>[] = [
    { id: "name", label: words.field.name, cell: ({ door }) => <Link to={`/ui/doors/${door.id}`}>{door.name}</Link> },
    { id: "on", label: words.field.status, cell: ({ isOn }) => <StateBadge state={isOn ? "enabled" : "disabled"} /> },
  ];
  // That it stands behind none is said when all doors have answered.
  const isWaiting = bound.some((query) => query.isPending);
  return (
    <Loaded query={{ ...all, data: isWaiting ? undefined : all.data }}>
      {() =>
        lines.length > 0 ? (
          <Table label={words.nav.doors} columns={columns} rows={lines} id={({ door }) => door.id} />
        ) : (
          <Empty title={words.tools.noDoors} />
        )
      }
    </Loaded>
  );
}
