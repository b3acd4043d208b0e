// Questions to a table in JMESPath, answered as one types.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { jmespath } from "../../api/tools";
import type { Table } from "../../api/types";
import { pretty } from "../../catalog/answer";
import { useSettled } from "../../form/http/rendered";
import { Code, ErrorNote, FieldError, Muted, Region, Stack, TextField } from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";

export function Query({ of, path }: { of: Table; path: string }) {
  const words = useWords();
  const format = useFormat();
  const [expression, setExpression] = useState("@");
  const settled = useSettled(expression);
  const query = useQuery({
    queryKey: ["tables", of.id, "query", of.version, path, settled],
    queryFn: () => jmespath(settled, of.id, path),
    enabled: settled.trim() !== "",
    placeholderData: keepPreviousData,
  });
  const problems = query.data?.errors ?? [];
  return (
    <Stack>
      <TextField
        label={words.tables.jmespath}
        hint={words.tables.jmespathHint}
        value={expression}
        onValue={setExpression}
      />
      {problems.map((problem) => (
        <FieldError key={problem.message}>{problem.message}</FieldError>
      ))}
      {query.error && <ErrorNote error={query.error} />}
      <Region title={words.tables.result} actions={query.data && <Muted small>{format.duration(query.data.us)}</Muted>}>
        {query.data && problems.length === 0 && <Code>{pretty(query.data.data)}</Code>}
      </Region>
    </Stack>
  );
}
