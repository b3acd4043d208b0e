// What changed in a service's tools and waits for a yes; and what would break without the service.
import { useQuery } from "@tanstack/react-query";
import { approve, pins, references } from "../../api/services";
import { useMay } from "../../api/session";
import type { Service } from "../../api/types";
import { StateBadge } from "../../catalog/badges";
import { ActionErrors, useAction } from "../../form/action";
import { Button, type Column, Empty, Link, Loaded, Note, Stack, Table } from "../../kit";
import { stateWord, useWords, wordOf } from "../../words";

type Pin = { tool: string; state: string; held: boolean; changed: string[]; hidden: string[]; fingerprint: string };

export function Pins({ of }: { of: Service }) {
  const words = useWords();
  const may = useMay();
  const query = useQuery(pins(of.type, of.id));
  const yes = useAction(
    (pin: Pin) => approve(of.type, of.id, { name: pin.tool, fingerprint: pin.fingerprint }),
    words.done.approved,
  );
  const columns: Column<Pin>[] = [
    { id: "tool", label: words.field.name, cell: (pin) => pin.tool },
    { id: "state", label: words.field.status, cell: (pin) => <StateBadge state={pin.held ? "held" : pin.state} /> },
    { id: "changed", label: words.services.changedFields, cell: (pin) => [...pin.changed, ...pin.hidden].join(", ") },
    {
      id: "approve",
      label: words.act.approve,
      cell: (pin) =>
        pin.state !== "pinned" &&
        may("make_services") && <Button onClick={() => yes.run(pin)}>{words.act.approve}</Button>,
    },
  ];
  return (
    <Stack>
      <ActionErrors of={yes} />
      <Loaded query={query}>
        {(data) => (
          <Stack>
            <p>{words.services.pinning[data.pin]}</p>
            {data.warnings.map((warning) => (
              <Note key={warning} tone="warn" title={warning} />
            ))}
            {data.items.length > 0 ? (
              <Table
                label={words.services.changes}
                columns={columns}
                rows={data.items as Pin[]}
                id={(pin) => pin.tool}
              />
            ) : (
              <Empty title={words.services.noChanges} />
            )}
          </Stack>
        )}
      </Loaded>
    </Stack>
  );
}

type Reference = {
  id: string;
  name: string;
  type: string;
  uri: string;
  node?: string | null;
  version?: number | null;
  state?: string | null;
};

/** A tool, a flow or an agent, each with a page of its own. */
const addressOf = ({ type, id }: Reference) => `/ui/${type}s/${encodeURIComponent(id)}`;

export function UsedBy({ of }: { of: Service }) {
  const words = useWords();
  const query = useQuery(references(of.type, of.id));
  const columns: Column<Reference>[] = [
    { id: "name", label: words.field.name, cell: (one) => <Link to={addressOf(one)}>{one.name}</Link> },
    { id: "type", label: words.field.type, cell: (one) => wordOf(words.kinds, one.type) },
    { id: "uri", label: words.field.address, cell: (one) => <code>{one.uri}</code> },
    { id: "node", label: words.services.node, cell: (one) => one.node },
    {
      id: "version",
      label: words.field.version,
      cell: (one) => one.version ?? (one.state && stateWord(words, one.state)),
    },
  ];
  return (
    <Loaded query={query}>
      {(rows) =>
        rows.length > 0 ? (
          <Table
            label={words.services.used}
            columns={columns}
            rows={rows}
            id={(one) => `${one.type} ${one.id} ${one.version ?? ""} ${one.node ?? ""} ${one.uri}`}
          />
        ) : (
          <Empty title={words.services.unused} />
        )
      }
    </Loaded>
  );
}
