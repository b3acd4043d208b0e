// A secret: it can be set or replaced, never seen. The server only ever says that there is one.
import { type ClipboardEvent, useState } from "react";
import { Badge, Button, LinesField, Row, Stack, TextField } from "../kit";
import { useWords } from "../words";
import { useForm, useProblem } from "./context";
import type { InputProps } from "./fields";
import { MASK, useSignedOut } from "./secrets";

export function SecretField({ value, onValue, path, label, hint, required }: InputProps) {
  const words = useWords();
  const { isReadOnly } = useForm();
  const error = useProblem(path);
  const [isReplacing, setReplacing] = useState(false);
  const isSet = value === MASK;
  // Fields of passwords have one line. What is pasted with more, like a key, moves into one that has room for them.
  const [hasLines, setLines] = useState(false);
  // The form takes out what was typed.
  useSignedOut(() => {
    setReplacing(false);
    setLines(false);
  });
  if (isSet && !isReplacing) {
    return (
      <Stack gap="tight">
        <strong>{label}</strong>
        <Row>
          <Badge tone="ok">{words.form.set}</Badge>
          {!isReadOnly && (
            <Button
              aria-label={words.act.replace}
              title={`${words.act.replace}: ${label}`}
              onClick={() => setReplacing(true)}
            >
              {words.act.replace}
            </Button>
          )}
        </Row>
      </Stack>
    );
  }
  const back = () => {
    onValue(MASK);
    setReplacing(false);
    setLines(false);
  };
  const paste = (event: ClipboardEvent<HTMLInputElement>) => {
    const text = event.clipboardData.getData("text/plain").replaceAll("\r\n", "\n");
    if (!text.trim().includes("\n")) return;
    event.preventDefault();
    const { value: typed, selectionStart, selectionEnd } = event.currentTarget;
    setLines(true);
    onValue(typed.slice(0, selectionStart ?? 0) + text + typed.slice(selectionEnd ?? typed.length));
  };
  const field = {
    ...{ label, hint, error, required },
    readOnly: isReadOnly,
    value: typeof value === "string" && value !== MASK ? value : "",
    onValue: (text: string) => onValue(text === "" && !isReplacing ? undefined : text),
  };
  return (
    <Row at="bottom">
      <div style={{ flex: 1, minWidth: 0 }}>
        {hasLines || field.value.includes("\n") ? (
          <LinesField {...field} isLong isSecret autoFocus={hasLines} />
        ) : (
          <TextField {...field} type="password" autoComplete="new-password" onPaste={paste} />
        )}
      </div>
      {isReplacing && <Button onClick={back}>{words.act.keep}</Button>}
    </Row>
  );
}
