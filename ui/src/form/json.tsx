// A value that no control fits, as JSON. While it is no JSON, the last good value stays, and nothing is sent.
import { useEffect, useRef, useState } from "react";
import { readJson, writeJson } from "../api/json";
import { Editor } from "../editor";
import { FieldError, Muted, Note, Stack } from "../kit";
import { useWords } from "../words";
import { useForm, useProblem } from "./context";
import type { InputProps } from "./fields";
import { useBroken } from "./whole";

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
  const [bad, setBad] = useState<string | null>(null);
  const [isRefused, setRefused] = useState(false);
  const host = useRef<HTMLDivElement>(null);
  useBroken(bad !== null, host, () => setRefused(true));
  const last = useRef(value);
  useEffect(() => {
    // What came from elsewhere is shown; what was just typed stays as it was typed.
    if (JSON.stringify(last.current) === JSON.stringify(value)) return;
    last.current = value;
    setText(write(value));
    setBad(null);
  }, [value]);
  const change = (next: string) => {
    setText(next);
    setRefused(false);
    try {
      const parsed = next.trim() === "" ? undefined : readJson(next);
      last.current = parsed;
      setBad(null);
      onValue(parsed);
    } catch (problem) {
      setBad((problem as Error).message);
    }
  };
  const isBad = bad !== null;
  return (
    <div ref={host}>
      <Stack gap="tight">
        <Editor
          label={label}
          language="json"
          value={text}
          onValue={change}
          isReadOnly={isReadOnly}
          error={isBad ? words.form.badJson : error}
        />
        {isBad && !isRefused && <FieldError>{words.form.badJson}</FieldError>}
        {isBad && isRefused && (
          <Note title={words.form.refusedJson} live="alert">
            <p lang="en">{bad}</p>
          </Note>
        )}
      </Stack>
    </div>
  );
}
