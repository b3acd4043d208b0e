// The controls of a form, one per kind of value.
import { useState } from "react";
import { Button, Card, Group, Muted, Row, SelectField, Stack, SwitchField, TextField } from "../kit";
import { useWords } from "../words";
import { useForm, useHasProblemBelow, useProblem } from "./context";
import { JsonField } from "./json";
import { getAt, type Path, setAt } from "./path";
import { choicesOf, emptyOf, type FormField, fieldsOf, isSchema, kindOf, resolve, type Schema } from "./schema";
import { SecretField } from "./secret";

type Props = { schema: Schema; value: unknown; path: Path; onValue: (value: unknown) => void };
export type InputProps = Props & { label: string; hint?: string; required: boolean };

export function ObjectFields({ schema, value, path, onValue }: Props) {
  const { root, whole, language } = useForm();
  const all = fieldsOf(schema, root, value, whole, language);
  const fields = all.filter(({ key }) => !isSaidBeside(key, path, root) || getAt(value, [key]) !== undefined);
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
  return (
    <>
      {fields.filter((field) => !field.advanced).map(draw)}
      {advanced.length > 0 && (
        <Advanced paths={advanced.map((field) => [...path, field.key])}>{advanced.map(draw)}</Advanced>
      )}
    </>
  );
}

/** `auth_config` needs no `type` of its own where `auth_type` stands beside it. */
function isSaidBeside(key: string, path: Path, root: Schema): boolean {
  const owner = String(path.at(-1) ?? "");
  const beside = owner.replace(/_config$/, "_type");
  return key === "type" && beside !== owner && getAt(root, ["properties", beside]) !== undefined;
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
      return (
        <Group label={props.label} hint={props.hint}>
          <ObjectFields {...props} />
        </Group>
      );
    case "json":
      return <JsonField {...props} />;
  }
}

function TextInput({ value, onValue, schema, path, label, hint, required }: InputProps) {
  const { isReadOnly } = useForm();
  const error = useProblem(path);
  const fallback = typeof schema.default === "string" ? schema.default : "";
  return (
    <TextField
      {...{ label, hint, error, required }}
      value={typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value)}
      placeholder={fallback}
      readOnly={isReadOnly}
      onValue={(text) => onValue(text === "" && !required ? undefined : text)}
    />
  );
}

function NumberInput({ value, onValue, schema, path, label, hint, required }: InputProps) {
  const { isReadOnly } = useForm();
  const error = useProblem(path);
  // What is no number is kept as it was typed: the server says what is wrong with it.
  const read = (text: string) => (text.trim() === "" ? undefined : Number.isFinite(Number(text)) ? Number(text) : text);
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

function FlagInput({ value, onValue, schema, label, hint }: InputProps) {
  const { isReadOnly } = useForm();
  const isOn = value === undefined || value === null ? schema.default === true : value === true;
  return (
    <Stack gap="tight">
      <SwitchField label={label} checked={isOn} onChecked={onValue} disabled={isReadOnly} />
      {hint && <Muted small>{hint}</Muted>}
    </Stack>
  );
}

function ChoiceInput({ value, onValue, schema, path, label, hint, required }: InputProps) {
  const words = useWords();
  const { isReadOnly } = useForm();
  const error = useProblem(path);
  const choices = choicesOf(schema) ?? [];
  const known = choices.map((choice) => ({ value: JSON.stringify(choice), label: String(choice) }));
  const unset = schema.default === undefined || schema.default === null ? words.form.notSet : String(schema.default);
  const options = required && value !== undefined ? known : [{ value: "", label: unset }, ...known];
  return (
    <SelectField
      {...{ label, hint, error, required, options }}
      value={value === undefined || value === null ? "" : JSON.stringify(value)}
      disabled={isReadOnly}
      onValue={(text) => onValue(text === "" ? undefined : JSON.parse(text))}
    />
  );
}

function ListInput({ value, onValue, schema, path, label, hint }: InputProps) {
  const words = useWords();
  const { root, isReadOnly } = useForm();
  const error = useProblem(path);
  const items = Array.isArray(value) ? value : [];
  const inner = resolve(schema.items, root);
  return (
    <Group label={label} hint={error ?? hint}>
      {items.map((item, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an item is known by its place alone
        <Row key={at} at="bottom">
          <div style={{ flex: 1, minWidth: 0 }}>
            <Input
              schema={inner}
              label={words.form.item(at + 1)}
              required={false}
              value={item}
              path={[...path, at]}
              onValue={(next) => onValue(items.with(at, next ?? emptyOf(inner, root)))}
            />
          </div>
          {!isReadOnly && <Button onClick={() => onValue(items.toSpliced(at, 1))}>{words.act.remove}</Button>}
        </Row>
      ))}
      {!isReadOnly && (
        <div>
          <Button onClick={() => onValue([...items, emptyOf(inner, root)])}>{words.act.add}</Button>
        </div>
      )}
    </Group>
  );
}

function MapInput({ value, onValue, schema, path, label, hint }: InputProps) {
  const words = useWords();
  const { root, isReadOnly } = useForm();
  const entries = Object.entries(isSchema(value) ? value : {});
  const inner = resolve(schema.additionalProperties, root);
  const set = (at: number, entry: [string, unknown]) => onValue(Object.fromEntries(entries.with(at, entry)));
  // While a name is typed it may be that of another entry, which must not be lost for it.
  const [typed, setTyped] = useState<{ at: number; name: string } | null>(null);
  const rename = (at: number, name: string, item: unknown) => {
    const isTaken = entries.some(([key], other) => other !== at && key === name);
    setTyped(isTaken ? { at, name } : null);
    if (!isTaken) set(at, [name, item]);
  };
  return (
    <Group label={label} hint={hint}>
      {entries.map(([key, item], at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the key itself is being typed
        <Row key={at} at="bottom">
          <TextField
            label={words.form.name}
            value={typed?.at === at ? typed.name : key}
            onValue={(name) => rename(at, name, item)}
            readOnly={isReadOnly}
          />
          <Input
            schema={inner}
            label={words.form.value}
            required={false}
            value={item}
            path={[...path, key]}
            onValue={(next) => set(at, [key, next ?? ""])}
          />
          {!isReadOnly && (
            <Button onClick={() => onValue(Object.fromEntries(entries.toSpliced(at, 1)))}>{words.act.remove}</Button>
          )}
        </Row>
      ))}
      {!isReadOnly && (
        <div>
          <Button onClick={() => onValue(Object.fromEntries([...entries, ["", ""]]))}>{words.act.add}</Button>
        </div>
      )}
    </Group>
  );
}
