// Changes what a key may do; whoever else has changed it meanwhile is not written over.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { writeJson } from "../../api/json";
import { key as keyQuery, update } from "../../api/people";
import type { Key } from "../../api/types";
import { ConflictDialog } from "../../form/conflict";
import { useGuarded } from "../../form/guarded";
import { Button } from "../../kit";
import { useWords } from "../../words";
import { type FieldSpec, PersonDialog, type Values } from "./add";

type Draft = { values: Values; version?: number | null };

const local = (iso: string) => {
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
};

const valuesOf = ({ name, role, scopes, allow, limits, expires_at }: Key): Values => ({
  name,
  role,
  scopes: scopes.join(" "),
  allow: allow.join(" "),
  calls_per_minute: limits.calls_per_minute ? String(limits.calls_per_minute) : "",
  concurrent_calls: limits.concurrent_calls ? String(limits.concurrent_calls) : "",
  expires_at: expires_at ? local(expires_at) : "",
});

/** Everything that a form of a key says, as the server takes it. */
export function bodyOf(values: Values) {
  const { name, role, scopes = "", allow = "", calls_per_minute, concurrent_calls, expires_at } = values;
  const number = (text: string | undefined) => (text ? Number(text) : null);
  return {
    name: name ?? "",
    role,
    scopes: scopes.split(" ").filter(Boolean),
    allow: allow.split(/[\s,]+/).filter(Boolean),
    limits: { calls_per_minute: number(calls_per_minute), concurrent_calls: number(concurrent_calls) },
    expires_at: expires_at ? new Date(expires_at).toISOString() : null,
  };
}

export function EditKey({ of, fields }: { of: Key; fields: FieldSpec[] }) {
  const words = useWords();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const { draft, setDraft, action, save, conflict } = useGuarded<Draft, Key>(of, {
    place: ["keys", of.id],
    save: (mine, over) => update<Key>("keys", of.id, changes(mine, over)),
    read: () => queries.fetchQuery({ ...keyQuery(of.id), staleTime: 0 }),
    draftOf: (saved) => ({ values: valuesOf(saved), version: saved.version }),
    write: ({ values }) => writeJson(values, 2),
    done: words.done.saved,
  });
  const store = async () => {
    if ((await save()) !== undefined) setOpen(false);
  };
  return (
    <>
      <Button aria-label={words.people.edit(of.name)} onClick={() => setOpen(true)}>
        {words.act.edit}
      </Button>
      <PersonDialog
        title={words.people.edit(of.name)}
        open={isOpen && conflict.theirs === null}
        onClose={() => setOpen(false)}
        fields={fields}
        hasRole
        values={draft.values}
        onValues={(values) => setDraft({ ...draft, values })}
        action={action}
        onSave={store}
      />
      <ConflictDialog {...conflict} />
    </>
  );
}

/** Only what is another value: nobody has to be allowed to give what a key has already. */
function changes({ values, version }: Draft, over: Key): object {
  const [before, after] = [bodyOf(valuesOf(over)), bodyOf(values)];
  const changed = Object.entries(after).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(before[field as keyof typeof before]),
  );
  return { ...Object.fromEntries(changed), version };
}
