// A value that no control fits, as JSON. While it is no JSON, the last good value stays.
import { useEffect, useRef, useState } from "react";
import { readJson, writeJson } from "../api/json";
import { Editor } from "../editor";
import { FieldError, Muted, Stack } from "../kit";
import { useWords } from "../words";
import { useForm, useProblem } from "./context";
import type { InputProps } from "./fields";

const write = (value: unknown) => (value === undefined ? "" : writeJson(value, 2));

export function JsonField({ value, onValue, path, label, hint }: InputProps) {
  const { isReadOnly } = useForm();
  const error = useProblem(path);
  return (
    <Stack gap="tight">
      <strong aria-hidden>{label}</strong>
      <JsonEditor label={label} value={value} onValue={onValue} isReadOnly={isReadOnly} error={error} />
      {hint && <Muted small>{hint}</Muted>}
      {error && <FieldError>{error}</FieldError>}
    </Stack>
  );
}

type Props = {
  label: string;
  value: unknown;
  onValue: (value: unknown) => void;
  isReadOnly?: boolean;
  error?: string;
};

export function JsonEditor({ label, value, onValue, isReadOnly, error }: Props) {
  const words = useWords();
  const [text, setText] = useState(() => write(value));
  const [isBad, setBad] = useState(false);
  const last = useRef(value);
  useEffect(() => {
    // What came from elsewhere is shown; what was just typed stays as it was typed.
    if (JSON.stringify(last.current) === JSON.stringify(value)) return;
    last.current = value;
    setText(write(value));
    setBad(false);
  }, [value]);
  const change = (next: string) => {
    setText(next);
    try {
      const parsed = next.trim() === "" ? undefined : readJson(next);
      last.current = parsed;
      setBad(false);
      onValue(parsed);
    } catch {
      setBad(true);
    }
  };
  return (
    <Stack gap="tight">
      <Editor
        label={label}
        language="json"
        value={text}
        onValue={change}
        isReadOnly={isReadOnly}
        error={isBad ? words.form.badJson : error}
      />
      {isBad && <FieldError>{words.form.badJson}</FieldError>}
    </Stack>
  );
}
