// What a template makes of the sample, rendered by the server exactly as calls do, a moment after the last key.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { readJson } from "../../api/json";
import { render } from "../../api/tools";
import { Code, ErrorNote, FieldError, Muted, Region } from "../../kit";
import { useWords } from "../../words";

const SETTLE_MS = 120;

export function useSettled<T>(value: T, ms = SETTLE_MS): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

function read(sample: string): unknown {
  try {
    return readJson(sample);
  } catch {
    return sample;
  }
}

export function Rendered({ template, sample, error }: { template: string; sample: string; error?: string }) {
  const words = useWords();
  const [text, given] = [useSettled(template), useSettled(sample)];
  const query = useQuery({
    queryKey: ["render", text, given],
    queryFn: () => render(text, read(given)),
    enabled: text !== "",
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const shown = text === "" ? given : query.data?.output;
  return (
    <Region title={words.http.rendered}>
      {query.error && <ErrorNote error={query.error} />}
      {text !== "" &&
        query.data?.errors.map((problem) => (
          <FieldError key={problem.message}>
            {problem.line ? `${words.http.at(problem.line, problem.column ?? 1)}: ${problem.message}` : problem.message}
          </FieldError>
        ))}
      {error && <FieldError>{error}</FieldError>}
      {shown ? <Code>{shown}</Code> : <Muted>{words.http.nothing}</Muted>}
    </Region>
  );
}
