// The controls of a form, one per kind of value.

import { numberOf, readJson, writeJson } from "../api/json";
import { Card, Group, LinesField, SelectField, Stack, SwitchField, TextField } from "../kit";
import { useWords } from "../words";
import { useForm, useHasProblemBelow, useProblem } from "./context";
import { JsonField } from "./json";
import { ListInput, MapInput } from "./many";
import { getAt, type Path, setAt } from "./path";
import { choicesOf, type FormField, fieldsOf, groupsOf, isLong, kindOf, type Schema, typedAs } from "./schema";
import { SecretField } from "./secret";

type Props = { schema: Schema; value: unknown; path: Path; onValue: (value: unknown) => void };
export type InputProps = Props & { label: string; hint?: string; required: boolean };

export function ObjectFields({ schema, value, path, onValue }: Props) {
  const { root, whole, language } = useForm();
  const beside = besideOf(path, root);
  const all = fieldsOf(schema, root, value, whole, language, beside ? { type: getAt(whole, [beside]) } : {});
  const fields = all.filter(({ key }) => key !== "type" || !beside || getAt(value, [key]) !== undefined);
  const draw = (field: FormField) => (
    <Input
      key={field.key}
      schema={field.schema}
      label={field.label}
      hint={field.hint}
      required={field.required}
      value={getAt(value, [field.key])}
      path={[...path, field.key]}
      onValue={(next) => onValue(setAt(value ?? {}, [field.key], next))}
    />
  );
  const advanced = fields.filter((field) => field.advanced);
  const words = useWords();
  // Inside of another object everything belongs together already.
  const parts = path.length === 0 ? groupsOf(fields.filter((field) => !field.advanced)) : [];
  return (
    <>
      {path.length > 0 && fields.filter((field) => !field.advanced).map(draw)}
      {parts.map(({ group, fields }) => {
        const title = (words.form.groups as Record<string, string>)[group];
        return title && fields.length > 1 && parts.length > 1 ? (
          <Group key={group} label={title}>
            {fields.map(draw)}
          </Group>
        ) : (
          fields.map(draw)
        );
      })}
      {advanced.length > 0 && (
        <Advanced paths={advanced.map((field) => [...path, field.key])}>{advanced.map(draw)}</Advanced>
      )}
    </>
  );
}

/** `auth_config` needs no `type` of its own where `auth_type` stands beside it. */
function besideOf(path: Path, root: Schema): string | null {
  const owner = String(path.at(-1) ?? "");
  const beside = owner.replace(/_config$/, "_type");
  return beside !== owner && getAt(root, ["properties", beside]) !== undefined ? beside : null;
}

function Advanced({ paths, children }: { paths: Path[]; children: React.ReactNode }) {
  const words = useWords();
  const isWrong = useHasProblemBelow(paths);
  return (
    <details open={isWrong || undefined}>
      <summary>{words.form.advanced}</summary>
      <Card quiet>
        <Stack>{children}</Stack>
      </Card>
    </details>
  );
}

export function Input(props: InputProps) {
  const { root } = useForm();
  switch (kindOf(props.schema, root)) {
    case "text":
      return <TextInput {...props} />;
    case "typed":
      return <TypedInput {...props} />;
    case "secret":
      return <SecretField {...props} />;
    case "number":
      return <NumberInput {...props} />;
    case "flag":
      return <FlagInput {...props} />;
    case "choice":
      return <ChoiceInput {...props} />;
    case "list":
      return <ListInput {...props} />;
    case "map":
      return <MapInput {...props} />;
    case "object":
      return <ObjectInput {...props} />;
    case "json":
      return <JsonField {...props} />;
  }
}

function ObjectInput(props: InputProps) {
  return (
    <Group label={props.label} hint={props.hint} error={useProblem(props.path)}>
      <ObjectFields {...props} />
    </Group>
  );
}

function TextInput({ value, onValue, schema, path, label, hint, required }: InputProps) {
  const { isReadOnly } = useForm();
  const error = useProblem(path);
  const fallback = typeof schema.default === "string" ? schema.default : "";
  return (
    <LinesField
      {...{ label, hint, error, required }}
      isLong={isLong(schema, path)}
      value={typeof value === "string" ? value : value === undefined || value === null ? "" : writeJson(value)}
      placeholder={fallback}
      readOnly={isReadOnly}
      onValue={(text) => onValue(text === "" && !required ? undefined : text)}
    />
  );
}

function TypedInput({ value, onValue, schema, path, label, hint, required }: InputProps) {
  const { isReadOnly } = useForm();
  const error = useProblem(path);
  return (
    <TextField
      {...{ label, hint, error, required }}
      value={value === undefined || value === null ? "" : typeof value === "string" ? value : writeJson(value)}
      placeholder={(choicesOf(schema) ?? [schema.default ?? ""]).map(String).join(" | ")}
      readOnly={isReadOnly}
      onValue={(text) => onValue(text.trim() === "" ? undefined : typedAs(schema, text))}
    />
  );
}

function NumberInput({ value, onValue, schema, path, label, hint, required }: InputProps) {
  const { isReadOnly } = useForm();
  const error = useProblem(path);
  // What is no number is kept as it was typed: the server says what is wrong with it.
  const read = (text: string) => (text.trim() === "" ? undefined : (numberOf(text.trim()) ?? text));
  return (
    <TextField
      {...{ label, hint, error, required }}
      inputMode="decimal"
      value={value === undefined || value === null ? "" : String(value)}
      placeholder={schema.default === undefined || schema.default === null ? "" : String(schema.default)}
      readOnly={isReadOnly}
      onValue={(text) => onValue(read(text))}
    />
  );
}

function FlagInput({ value, onValue, schema, path, label, hint }: InputProps) {
  const { isReadOnly } = useForm();
  const error = useProblem(path);
  const isOn = value === undefined || value === null ? schema.default === true : value === true;
  return <SwitchField {...{ label, hint, error }} checked={isOn} onChecked={onValue} disabled={isReadOnly} />;
}

function ChoiceInput({ value, onValue, schema, path, label, hint, required }: InputProps) {
  const words = useWords();
  const { isReadOnly } = useForm();
  const error = useProblem(path);
  const choices = choicesOf(schema) ?? [];
  const known = choices.map((choice) => ({ value: writeJson(choice), label: String(choice) }));
  const unset = schema.default === undefined || schema.default === null ? words.form.notSet : String(schema.default);
  const options = required && value !== undefined ? known : [{ value: "", label: unset }, ...known];
  return (
    <SelectField
      {...{ label, hint, error, required, options }}
      value={value === undefined || value === null ? "" : writeJson(value)}
      disabled={isReadOnly}
      onValue={(text) => onValue(text === "" ? undefined : readJson(text))}
    />
  );
}
