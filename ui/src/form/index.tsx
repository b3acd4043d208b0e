// A form of a JSON Schema. The server alone says what is wrong; here its problems only find their fields.
import { type ReactNode, useMemo } from "react";
import type { Problem } from "../api/error";
import { Stack } from "../kit";
import { useLanguage } from "../words";
import { FormContext } from "./context";
import { ObjectFields } from "./fields";
import { type Path, parsePath } from "./path";
import { resolve, type Schema } from "./schema";
import { useSignedOut, withoutSecrets } from "./secrets";

export type FormValue = Record<string, unknown>;
type Props = {
  schema: Schema;
  value: FormValue;
  onValue: (value: FormValue) => void;
  problems?: Problem[];
  /** Where the value stands in what is sent, e.g. `config`. */
  prefix?: string;
  isReadOnly?: boolean;
  /** What the server has, with its secrets masked. */
  saved?: FormValue;
};

/** Lets fields below it find their problems, where no schema draws them. */
export function ProblemsBelow({ problems, children }: { problems: Problem[]; children: ReactNode }) {
  const language = useLanguage();
  const context = useMemo(() => {
    const placed = problems.map((problem) => ({ at: parsePath(problem.path), message: problem.message }));
    return { root: {}, whole: {}, problems: placed, language, isReadOnly: false };
  }, [problems, language]);
  return <FormContext value={context}>{children}</FormContext>;
}

export function SchemaForm(props: Props) {
  const { schema, value, onValue, problems = [], prefix = "", isReadOnly = false, saved } = props;
  useSignedOut(() => {
    const bare = withoutSecrets(value, schema, saved);
    if (JSON.stringify(bare) !== JSON.stringify(value)) onValue(bare);
  });
  const language = useLanguage();
  const whole = useMemo(() => resolve(schema, schema), [schema]);
  const context = useMemo(() => {
    const start = parsePath(prefix);
    const placed = problems.map((problem) => ({ at: parsePath(problem.path), message: problem.message }));
    const below = placed.filter(({ at }) => start.every((part, index) => at[index] === part));
    const inside = below.map(({ at, message }) => ({ at: at.slice(start.length) as Path, message }));
    return { root: schema, whole: value, problems: inside, language, isReadOnly };
  }, [schema, value, problems, prefix, language, isReadOnly]);
  return (
    <FormContext value={context}>
      <Stack>
        <ObjectFields schema={whole} value={value} path={[]} onValue={(next) => onValue(next as FormValue)} />
      </Stack>
    </FormContext>
  );
}
