// Lists, and objects whose keys are typed: values that have as many controls as there are items.
import { useState } from "react";
import { Button, Group, Row, TextField } from "../kit";
import { useWords } from "../words";
import { useForm, useProblem } from "./context";
import { Input, type InputProps } from "./fields";
import { emptyOf, isSchema, resolve } from "./schema";

export function ListInput({ value, onValue, schema, path, label, hint }: InputProps) {
  const words = useWords();
  const { root, isReadOnly } = useForm();
  const error = useProblem(path);
  const items = Array.isArray(value) ? value : [];
  const inner = resolve(schema.items, root);
  return (
    <Group label={label} hint={hint} error={error}>
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

export function MapInput({ value, onValue, schema, path, label, hint }: InputProps) {
  const words = useWords();
  const { root, isReadOnly } = useForm();
  const error = useProblem(path);
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
    <Group label={label} hint={hint} error={error}>
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
