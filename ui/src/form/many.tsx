// Lists, and objects whose keys are typed: values that have as many controls as there are items.
import { useEffect, useRef, useState } from "react";
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

type Entry = [name: string, value: unknown];

const entriesOf = (value: unknown): Entry[] => Object.entries(isSchema(value) ? value : {});

/** The map that the rows are: one that is still empty is none, and of two with one name the first stays. */
function mapOf(rows: Entry[]): Record<string, unknown> {
  const begun = rows.filter(([name, value]) => name !== "" || value !== "");
  return Object.fromEntries(begun.filter(([name], at) => begun.findIndex(([other]) => other === name) === at));
}

/** Rows stay where and as they are typed, whatever an object would make of their names. */
function useRows(value: unknown, onValue: (value: unknown) => void): [Entry[], (rows: Entry[]) => void] {
  const [rows, setRows] = useState(() => entriesOf(value));
  const last = useRef(value);
  useEffect(() => {
    // What came from elsewhere is shown.
    if (JSON.stringify(last.current ?? {}) === JSON.stringify(value ?? {})) return;
    last.current = value;
    setRows(entriesOf(value));
  }, [value]);
  const change = (next: Entry[]) => {
    setRows(next);
    last.current = mapOf(next);
    onValue(last.current);
  };
  return [rows, change];
}

export function MapInput({ value, onValue, schema, path, label, hint }: InputProps) {
  const words = useWords();
  const { root, isReadOnly } = useForm();
  const error = useProblem(path);
  const [rows, setRows] = useRows(value, onValue);
  const inner = resolve(schema.additionalProperties, root);
  const isTaken = (name: string, at: number) => rows.findIndex(([other]) => other === name) < at;
  return (
    <Group label={label} hint={hint} error={error}>
      {rows.map(([name, item], at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the name itself is being typed
        <Row key={at} at="bottom">
          <TextField
            label={words.form.name}
            value={name}
            error={isTaken(name, at) ? words.form.nameTaken : undefined}
            onValue={(next) => setRows(rows.with(at, [next, item]))}
            readOnly={isReadOnly}
          />
          <Input
            schema={inner}
            label={words.form.value}
            required={false}
            value={item}
            path={[...path, name]}
            onValue={(next) => setRows(rows.with(at, [name, next ?? ""]))}
          />
          {!isReadOnly && <Button onClick={() => setRows(rows.toSpliced(at, 1))}>{words.act.remove}</Button>}
        </Row>
      ))}
      {!isReadOnly && (
        <div>
          <Button onClick={() => setRows([...rows, ["", ""]])}>{words.act.add}</Button>
        </div>
      )}
    </Group>
  );
}
