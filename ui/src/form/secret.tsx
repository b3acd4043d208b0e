// A secret: it can be set or replaced, never seen. The server only ever says that there is one.
import { useState } from "react";
import { Badge, Button, Row, Stack, TextField } from "../kit";
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
  // The form takes out what was typed.
  useSignedOut(() => setReplacing(false));
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
  };
  return (
    <Row at="bottom">
      <div style={{ flex: 1, minWidth: 0 }}>
        <TextField
          {...{ label, hint, error, required }}
          type="password"
          autoComplete="new-password"
          readOnly={isReadOnly}
          value={typeof value === "string" && value !== MASK ? value : ""}
          onValue={(text) => onValue(text === "" && !isReplacing ? undefined : text)}
        />
      </div>
      {isReplacing && <Button onClick={back}>{words.act.keep}</Button>}
    </Row>
  );
}
