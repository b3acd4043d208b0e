// One thing that the server is asked to do: busy, refused, in conflict, or done.
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { ApiError, type Problem } from "../api/error";
import { ErrorNote, Problems, toast } from "../kit";
import { useWords } from "../words";

export type Action<A extends unknown[], T> = {
  run: (...args: A) => Promise<T | undefined>;
  isBusy: boolean;
  error: Error | null;
  problems: Problem[];
  clear: () => void;
};

/** What lies over the page says it. */
const GONE = ["SIGNED_OUT", "OTHER_SESSION"];

/** Runs `work`; once it is done everything shown is asked for anew, and `done` is said. */
export function useAction<A extends unknown[], T>(work: (...args: A) => Promise<T>, done?: string): Action<A, T> {
  const queries = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const run = async (...args: A) => {
    setBusy(true);
    setError(null);
    try {
      const result = await work(...args);
      if (done) toast(done);
      void queries.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "me" });
      return result;
    } catch (failure) {
      if (!(failure instanceof ApiError && GONE.includes(failure.code))) setError(failure as Error);
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  const problems = error instanceof ApiError ? error.problems : [];
  const clear = useCallback(() => setError(null), []);
  return { run, isBusy, error, problems, clear };
}

type Failed = { error: Error | null; problems: Problem[] };

/** What the server refused, in one place; each problem also stands at its field. */
export function ActionErrors({ of }: { of: Failed }) {
  const words = useWords();
  if (!of.error) return null;
  if (of.problems.length === 0) return <ErrorNote error={of.error} />;
  return <Problems title={words.state.problems(of.problems.length)} all={of.problems} />;
}
