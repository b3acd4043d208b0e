// The dialog that makes a key, user or tenant, and the row actions that all three have.
import { type ReactNode, useState } from "react";
import { create, type Person, remove, update } from "../../api/people";
import { KeyDialog } from "../../catalog/key-dialog";
import { ActionErrors, useAction } from "../../form/action";
import { Button, DeleteButton, Dialog, Row, SelectField, Stack, SwitchField, TextField } from "../../kit";
import { useWords } from "../../words";

type FieldSpec = {
  name: string;
  label: string;
  type?: "password" | "datetime-local" | "number";
  required?: boolean;
  hint?: string;
};
type Props = { what: Person; label: string; fields: FieldSpec[]; hasRole?: boolean; body?: (values: Values) => object };
export type Values = Record<string, string>;

const ROLES = ["viewer", "caller", "manager", "admin"] as const;

export function AddPerson({ what, label, fields, hasRole, body = (values) => values }: Props) {
  const words = useWords();
  const [isOpen, setOpen] = useState(false);
  const [values, setValues] = useState<Values>({ role: "caller" });
  const [key, setKey] = useState<string | null>(null);
  const action = useAction(() => create(what, body(hasRole ? values : without(values))), words.done.saved);
  const save = async () => {
    const made = await action.run();
    if (!made) return;
    setOpen(false);
    setValues({ role: "caller" });
    setKey(made.key ?? null);
  };
  const error = (path: string) => action.problems.find((problem) => problem.path === path)?.message;
  const roles = ROLES.map((value) => ({ value, label: words.people.roles[value] }));
  const field = ({ name, ...spec }: FieldSpec): ReactNode => (
    <TextField
      key={name}
      {...spec}
      value={values[name] ?? ""}
      error={error(name)}
      onValue={(value) => setValues({ ...values, [name]: value })}
    />
  );
  return (
    <>
      <Button look="primary" onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Dialog title={label} open={isOpen} onClose={() => setOpen(false)}>
        <Stack>
          {fields.map(field)}
          {hasRole && (
            <SelectField
              label={words.field.role}
              value={values.role ?? ""}
              options={roles}
              error={error("role")}
              onValue={(role) => setValues({ ...values, role })}
            />
          )}
          <ActionErrors of={action} />
          <Row at="end">
            <Button look="primary" disabled={action.isBusy} onClick={save}>
              {words.act.save}
            </Button>
          </Row>
        </Stack>
      </Dialog>
      <KeyDialog value={key} onClose={() => setKey(null)} />
    </>
  );
}

function without({ role: _role, ...rest }: Values): Values {
  return rest;
}

type ActionProps = { what: Person; id: string; name: string; status: string; version: number };

export function PersonActions({ what, id, name, status, version }: ActionProps) {
  const words = useWords();
  const flip = useAction(
    (isOn: boolean) => update(what, id, { status: isOn ? "active" : "disabled", version }),
    words.done.saved,
  );
  const gone = useAction(() => remove(what, id), words.done.deleted);
  return (
    <Stack gap="tight">
      <Row>
        <SwitchField
          hideLabel
          label={words.people.active(name)}
          checked={status === "active"}
          disabled={flip.isBusy}
          onChecked={(isOn) => flip.run(isOn)}
        />
        <DeleteButton what={name} onDelete={() => gone.run()} />
      </Row>
      <ActionErrors of={flip} />
      <ActionErrors of={gone} />
    </Stack>
  );
}
