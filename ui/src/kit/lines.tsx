// Texts that may have lines: a field of one line until there is another one, which then grows with them.
import type { KeyboardEvent, TextareaHTMLAttributes } from "react";
import css from "./control.module.css";
import { names } from "./css";
import { apart, Field, type FieldProps, type Value } from "./field";

type Props = FieldProps &
  Value &
  Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "value" | "required"> & {
    /** Most such texts have lines: Enter begins another one at once. Elsewhere Shift and Enter do. */
    isLong?: boolean;
    /** What stands in it is hidden, line by line. */
    isSecret?: boolean;
  };

/** Lines that are counted where browsers do not size a field by what is in it. */
const MOST_ROWS = 16;

export function LinesField(props: Props) {
  const [field, { onValue, isLong, isSecret, ...rest }] = apart(props);
  const lines = rest.value.split("\n").length;
  const isLine = !isLong && lines === 1;
  return (
    <Field {...field}>
      {(described) => (
        <textarea
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={!!isLong && !isSecret}
          rows={Math.min(lines, MOST_ROWS)}
          {...rest}
          {...described}
          data-line={isLine || undefined}
          className={names(css.input, css.lines, isLong && css.long, isSecret && css.masked)}
          onChange={(event) => onValue(event.target.value)}
          onKeyDown={isLine ? onLineKey : undefined}
        />
      )}
    </Field>
  );
}

/** In one line Enter does what it does in every field of one line. */
function onLineKey(event: KeyboardEvent<HTMLTextAreaElement>): void {
  const isOurs = event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.metaKey;
  if (!isOurs || event.nativeEvent.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}
