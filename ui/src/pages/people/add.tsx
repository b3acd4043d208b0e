// The dialogs that make and change keys, users and tenants, and the row actions that all three have.
import { type ReactNode, useState } from "react";
import { joined, type Problem } from "../../api/error";
import { create, type Person, remove, update } from "../../api/people";
import { useMay } from "../../api/session";
import { KeyDialog } from "../../catalog/key-dialog";
import { ActionErrors, useAction } from "../../form/action";
import { useUnsaved } from "../../form/kept";
import { useSignedOut } from "../../form/secrets";
import {
  Button,
  CheckField,
  DeleteButton,
  Dialog,
  Group,
  Row,
  SelectField,
  Stack,
  SwitchField,
  TextField,
} from "../../kit";
import { useWords } from "../../words";

export type FieldSpec = {
  name: string;
  label: string;
  type?: "password" | "datetime-local" | "number";
  required?: boolean;
  hint?: string;
  /** Any of these, each to be ticked; kept as words with spaces between them. */
  choices?: { value: string; label: string }[];
  /** One of these. */
  options?: { value: string; label: string }[];
};
export type Values = Record<string, string>;
type Props = { what: Person; label: string; fields: FieldSpec[]; hasRole?: boolean; body?: (values: Values) => object };

const ROLES = ["viewer", "caller", "manager", "admin"] as const;

export function AddPerson({ what, label, fields, hasRole, body = (values) => values }: Props) {
  const words = useWords();
  const [isOpen, setOpen] = useState(false);
  const [values, setValues] = useState<Values>({ role: "caller" });
  const [key, setKey] = useState<string | null>(null);
  useUnsaved(isOpen && Object.entries(values).some(([name, value]) => name !== "role" && value !== ""));
  const secrets = fields.filter(({ type }) => type === "password").map(({ name }) => [name, ""]);
  useSignedOut(() => {
    setValues((old) => ({ ...old, ...Object.fromEntries(secrets) }));
    setKey(null);
  });
  const action = useAction(() => create(what, body(hasRole ? values : without(values))), words.done.saved);
  const save = async () => {
    const made = await action.run();
    if (!made) return;
    setOpen(false);
    setValues({ role: "caller" });
    setKey(made.key ?? null);
  };
  return (
    <>
      <Button look="primary" onClick={() => setOpen(true)}>
        {label}
      </Button>
      <PersonDialog
        {...{ title: label, fields, values, action, hasRole }}
        open={isOpen}
        onClose={() => setOpen(false)}
        onValues={setValues}
        onSave={save}
      />
      <KeyDialog value={key} onClose={() => setKey(null)} />
    </>
  );
}

type DialogProps = {
  title: string;
  open: boolean;
  onClose: () => void;
  fields: FieldSpec[];
  hasRole?: boolean;
  values: Values;
  onValues: (values: Values) => void;
  action: { isBusy: boolean; error: Error | null; problems: Problem[] };
  onSave: () => void;
};

export function PersonDialog(props: DialogProps) {
  const { title, open, onClose, fields, hasRole, values, onValues, action, onSave } = props;
  const words = useWords();
  const may = useMay();
  const error = (path: string) =>
    joined(action.problems.filter((problem) => problem.path.split(/[.[]/).includes(path)));
  // Nobody gives more than they have.
  const granted = ROLES.filter((role) => role !== "admin" || may("administer") || values.role === "admin");
  const roles = granted.map((value) => ({ value, label: words.people.roles[value] }));
  const set = (name: string) => (value: string) => onValues({ ...values, [name]: value });
  const field = ({ name, choices, options, ...spec }: FieldSpec): ReactNode => {
    const given = { value: values[name] ?? "", error: error(name), onValue: set(name) };
    if (choices) return <Ticks key={name} {...spec} {...given} choices={choices} />;
    if (options) return <SelectField key={name} {...spec} {...given} options={options} />;
    return <TextField key={name} {...spec} {...given} />;
  };
  return (
    <Dialog title={title} open={open} onClose={onClose} onSubmit={() => !action.isBusy && onSave()}>
      <Stack>
        {fields.map(field)}
        {hasRole && (
          <SelectField
            label={words.field.role}
            value={values.role ?? ""}
            options={roles}
            error={error("role")}
            onValue={set("role")}
          />
        )}
        <ActionErrors of={action} />
        <Row at="end">
          <Button look="primary" disabled={action.isBusy} onClick={onSave}>
            {words.act.save}
          </Button>
        </Row>
      </Stack>
    </Dialog>
  );
}

type TicksProps = {
  label: string;
  hint?: string;
  error?: string;
  value: string;
  choices: { value: string; label: string }[];
  onValue: (value: string) => void;
};

function Ticks({ label, hint, error, value, choices, onValue }: TicksProps) {
  const chosen = value.split(" ").filter(Boolean);
  const flip = (one: string, isOn: boolean) =>
    onValue(
      choices
        .flatMap((choice) => ((choice.value === one ? isOn : chosen.includes(choice.value)) ? choice.value : []))
        .join(" "),
    );
  return (
    <Group label={label} hint={hint} error={error}>
      {choices.map((choice) => (
        <CheckField
          key={choice.value}
          label={choice.label}
          checked={chosen.includes(choice.value)}
          onChecked={(isOn) => flip(choice.value, isOn)}
        />
      ))}
    </Group>
  );
}

function without({ role: _role, ...rest }: Values): Values {
  return rest;
}

type ActionProps = {
  what: Person;
  id: string;
  name: string;
  role?: string;
  status: string;
  version: number;
  children?: ReactNode;
};

export function PersonActions({ what, id, name, role, status, version, children }: ActionProps) {
  const words = useWords();
  const may = useMay();
  const flip = useAction(
    (isOn: boolean) => update(what, id, { status: isOn ? "active" : "disabled", version }),
    words.done.saved,
  );
  const gone = useAction(() => remove(what, id), words.done.deleted);
  // Admins are looked after by admins.
  if (role === "admin" && !may("administer")) return null;
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
        {children}
        <DeleteButton what={name} onDelete={() => gone.run()} />
      </Row>
      <ActionErrors of={flip} />
      <ActionErrors of={gone} />
    </Stack>
  );
}
