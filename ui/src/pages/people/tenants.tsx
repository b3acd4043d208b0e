// Tenants: walls that nothing crosses.
import { useQuery } from "@tanstack/react-query";
import { tenants } from "../../api/people";
import type { Tenant } from "../../api/types";
import { StateBadge } from "../../catalog/badges";
import { type Column, List, Loaded, Row, Stack } from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";
import { AddPerson, PersonActions } from "./add";

const text = (tenant: Tenant) => `${tenant.id} ${tenant.name}`;
const id = (tenant: Tenant) => tenant.id;

export function Tenants() {
  const words = useWords();
  const format = useFormat();
  const all = useQuery(tenants);
  const columns: Column<Tenant>[] = [
    { id: "id", label: words.field.id, cell: (tenant) => tenant.id },
    { id: "name", label: words.field.name, cell: (tenant) => tenant.name },
    {
      id: "quota",
      label: words.people.quota,
      kind: "number",
      cell: (tenant) => format.bytes(tenant.table_quota_bytes),
    },
    { id: "status", label: words.field.status, cell: (tenant) => <StateBadge state={tenant.status} /> },
    {
      id: "act",
      label: words.people.actions,
      cell: (tenant) => <PersonActions what="tenants" {...tenant} />,
    },
  ];
  const fields = [
    { name: "id", label: words.field.id, required: true },
    { name: "name", label: words.field.name },
  ];
  return (
    <Stack>
      <Row at="end">
        <AddPerson what="tenants" label={words.things.tenants.add} fields={fields} />
      </Row>
      <Loaded query={all}>
        {(rows) => <List things={words.things.tenants} rows={rows} columns={columns} id={id} text={text} />}
      </Loaded>
    </Stack>
  );
}
