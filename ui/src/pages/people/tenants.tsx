// Tenants: walls that nothing crosses.
import { useQuery } from "@tanstack/react-query";
import { tenants } from "../../api/people";
import type { Tenant } from "../../api/types";
import { StateBadge } from "../../catalog/badges";
import { type Column, List, Loaded, Row, Stack } from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";
import { AddPerson, type FieldSpec, PersonActions, type Values } from "./add";
import { EditPerson } from "./edit";
import { limitsOf, limitValues } from "./key-values";

const text = (tenant: Tenant) => `${tenant.id} ${tenant.name}`;
const id = (tenant: Tenant) => tenant.id;

/** Where nothing is said, the server decides. */
const NETWORKS = { unset: "", yes: "true", no: "false" };

const valuesOf = ({ name, table_quota_bytes, limits, allow_private_network }: Tenant): Values => ({
  name,
  table_quota_bytes: String(table_quota_bytes),
  ...limitValues(limits),
  allow_private_network: String(allow_private_network ?? ""),
});

const bodyOf = (values: Values) => ({
  name: values.name,
  table_quota_bytes: values.table_quota_bytes ? Number(values.table_quota_bytes) : null,
  limits: limitsOf(values),
  allow_private_network: values.allow_private_network ? values.allow_private_network === "true" : null,
});

export function Tenants() {
  const words = useWords();
  const format = useFormat();
  const all = useQuery(tenants);
  const networks = (["unset", "yes", "no"] as const).map((one) => ({
    value: NETWORKS[one],
    label: words.people.privateNetworks[one],
  }));
  const limits: FieldSpec[] = [
    { name: "name", label: words.field.name },
    { name: "table_quota_bytes", label: words.people.quotaBytes, type: "number" },
    { name: "calls_per_minute", label: words.people.perMinute, type: "number" },
    { name: "concurrent_calls", label: words.people.concurrent, type: "number" },
    { name: "allow_private_network", label: words.people.privateNetwork, options: networks },
  ];
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
      cell: (tenant) => (
        <PersonActions what="tenants" {...tenant}>
          <EditPerson {...{ what: "tenants", of: tenant, name: tenant.name, fields: limits, valuesOf, bodyOf }} />
        </PersonActions>
      ),
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
