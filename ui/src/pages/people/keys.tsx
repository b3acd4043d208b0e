// Keys: for programs that call.
import { useQuery } from "@tanstack/react-query";
import { keys } from "../../api/people";
import type { Key } from "../../api/types";
import { StateBadge } from "../../catalog/badges";
import { type Column, List, Loaded, Row, Stack } from "../../kit";
import { useWords, type Words } from "../../words";
import { useFormat } from "../../words/format";
import { AddPerson, PersonActions } from "./add";
import { EditPerson } from "./edit";
import { keyOf, keyValues } from "./key-values";

const text = (key: Key) => `${key.name} ${key.role} ${key.prefix}`;
const id = (key: Key) => key.id;
const SCOPES = ["read", "call", "manage"] as const;

export function Keys() {
  const words = useWords();
  const format = useFormat();
  const all = useQuery(keys);
  const scopes = SCOPES.map((value) => ({ value, label: words.people.scope[value] }));
  const fields = [
    { name: "name", label: words.field.name, required: true },
    { name: "allow", label: words.people.allow, hint: words.people.allowHint },
    { name: "scopes", label: words.people.scopes, hint: words.people.scopesHint, choices: scopes },
    { name: "calls_per_minute", label: words.people.perMinute, type: "number" as const },
    { name: "concurrent_calls", label: words.people.concurrent, type: "number" as const },
    { name: "expires_at", label: words.people.expires, type: "datetime-local" as const },
  ];
  const columns: Column<Key>[] = [
    { id: "name", label: words.field.name, cell: (key) => key.name },
    { id: "prefix", label: words.people.begins, cell: (key) => <code>{key.prefix}…</code> },
    { id: "role", label: words.field.role, cell: (key) => words.people.roles[key.role] },
    { id: "scopes", label: words.people.scopes, cell: (key) => [...key.scopes, ...key.allow].join(", ") },
    { id: "limits", label: words.people.limits, cell: (key) => saidLimits(key.limits, words) },
    {
      id: "expires",
      label: words.people.expires,
      kind: "nowrap",
      cell: (key) => key.expires_at && format.time(key.expires_at),
    },
    { id: "status", label: words.field.status, cell: (key) => <StateBadge state={key.status} /> },
    {
      id: "act",
      label: words.people.actions,
      cell: (key) => (
        <PersonActions what="keys" {...key}>
          <EditPerson
            {...{ what: "keys", of: key, name: key.name, fields, valuesOf: keyValues, bodyOf: keyOf }}
            hasRole
          />
        </PersonActions>
      ),
    },
  ];
  return (
    <Stack>
      <Row at="end">
        <AddPerson what="keys" label={words.things.keys.add} fields={fields} hasRole body={keyOf} />
      </Row>
      <Loaded query={all}>
        {(rows) => <List things={words.things.keys} rows={rows} columns={columns} id={id} text={text} />}
      </Loaded>
    </Stack>
  );
}

function saidLimits({ calls_per_minute, concurrent_calls }: Key["limits"], words: Words): string {
  return [
    calls_per_minute && words.people.everyMinute(calls_per_minute),
    concurrent_calls && words.people.atOnce(concurrent_calls),
  ]
    .filter(Boolean)
    .join(", ");
}
