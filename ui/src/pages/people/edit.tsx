// Changes a key, a user or a tenant; whoever else has changed it meanwhile is not written over.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { writeJson } from "../../api/json";
import { one, type Person, update } from "../../api/people";
import { ConflictDialog } from "../../form/conflict";
import { useGuarded } from "../../form/guarded";
import { useSignedOut } from "../../form/secrets";
import { Button } from "../../kit";
import { useWords } from "../../words";
import { type FieldSpec, PersonDialog, type Values } from "./add";

type Draft = { values: Values; version?: number | null };
type Body = Record<string, unknown>;
type Known = { id: string; version?: number | null };
type Props<T extends Known> = {
  what: Person;
  of: T;
  name: string;
  fields: FieldSpec[];
  hasRole?: boolean;
  valuesOf: (of: T) => Values;
  /** All that the form says, as the server takes it. */
  bodyOf: (values: Values) => Body;
};

/** Typed anew each time, kept nowhere and shown to nobody. */
const withoutPassword = ({ password: _password, ...rest }: Values): Values => rest;

export function EditPerson<T extends Known>({ what, of, name, fields, hasRole, valuesOf, bodyOf }: Props<T>) {
  const words = useWords();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  /** Only what is another value: nobody has to be allowed to give what is there already. */
  const changes = ({ values, version }: Draft, over: T): object => {
    const [before, after] = [bodyOf(valuesOf(over)), bodyOf(values)];
    const changed = Object.entries(after).filter(([field, value]) => writeJson(value) !== writeJson(before[field]));
    return { ...Object.fromEntries(changed), version };
  };
  const { draft, setDraft, action, save, conflict } = useGuarded<Draft, T>(of, {
    place: [what, of.id],
    save: (mine, over) => update<T>(what, of.id, changes(mine, over)),
    read: () => queries.fetchQuery({ ...one<T>(what, of.id), staleTime: 0 }),
    draftOf: (saved) => ({ values: valuesOf(saved), version: saved.version }),
    bare: (mine) => ({ ...mine, values: withoutPassword(mine.values) }),
    write: ({ values }) => writeJson(withoutPassword(values), 2),
    done: words.done.saved,
  });
  useSignedOut(() => draft.values.password && setDraft({ ...draft, values: withoutPassword(draft.values) }));
  const store = async () => {
    if ((await save()) !== undefined) setOpen(false);
  };
  return (
    <>
      <Button aria-label={words.people.edit(name)} onClick={() => setOpen(true)}>
        {words.act.edit}
      </Button>
      <PersonDialog
        title={words.people.edit(name)}
        open={isOpen && conflict.theirs === null}
        onClose={() => setOpen(false)}
        fields={fields}
        hasRole={hasRole}
        values={draft.values}
        onValues={(values) => setDraft({ ...draft, values })}
        action={action}
        onSave={store}
      />
      <ConflictDialog {...conflict} />
    </>
  );
}
