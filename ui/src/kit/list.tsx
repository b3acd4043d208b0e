// A list of things: filter, table, and what to do when there are none.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { useWords } from "../words";
import control from "./control.module.css";
import { Grow, Muted, Row, Stack } from "./layout";
import { Empty } from "./state";
import { type Column, Table } from "./table";

type Things = { many: string; filter: string; add: string; none: string };
type Props<T> = {
  things: Things;
  rows: T[];
  columns: Column<T>[];
  id: (row: T) => string;
  /** What the filter looks into. */
  text: (row: T) => string;
  empty?: ReactNode;
  /** Those who look have left rows out already: that there are none of these is not that there are none. */
  isFiltered?: boolean;
  children?: ReactNode;
};

/** The filter is in the address, a moment after the last letter. */
const ADDRESS_MS = 300;

export function List<T>({ things, rows, columns, id, text, empty, isFiltered, children }: Props<T>) {
  const words = useWords();
  const [filter, setFilter] = useFilter();
  const lines = useMemo(() => rows.map((row) => text(row).toLowerCase()), [rows, text]);
  const wanted = filter.toLowerCase().trim();
  const shown = useMemo(
    () => (wanted ? rows.filter((_, at) => lines[at]?.includes(wanted)) : rows),
    [rows, lines, wanted],
  );
  if (rows.length === 0 && !isFiltered) return <Empty title={things.none}>{empty}</Empty>;
  return (
    <Stack>
      <Row>
        <Grow>
          <input
            type="search"
            className={control.input}
            aria-label={things.filter}
            placeholder={things.filter}
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
        </Grow>
        {children}
      </Row>
      {shown.length > 0 ? (
        <Table label={things.many} columns={columns} rows={shown} id={id} />
      ) : (
        <Muted>{words.state.nothingFound}</Muted>
      )}
    </Stack>
  );
}

function useFilter(): [string, (text: string) => void] {
  const { q = "" } = useSearch({ strict: false }) as { q?: string };
  const navigate = useNavigate();
  const [text, setText] = useState(q);
  useEffect(() => {
    if (text === q) return;
    const go = () => navigate({ to: ".", search: ((old: object) => ({ ...old, q: text })) as never, replace: true });
    const timer = setTimeout(go, ADDRESS_MS);
    return () => clearTimeout(timer);
  }, [text, q, navigate]);
  return [text, setText];
}

/** Filters of a page as they stand in the address. */
export function useAddress<K extends string>(): [
  Partial<Record<K, string>>,
  (changes: Partial<Record<K, string>>) => void,
] {
  const search = useSearch({ strict: false }) as Partial<Record<K, string>>;
  const navigate = useNavigate();
  const set = (changes: Partial<Record<K, string>>) =>
    void navigate({ to: ".", search: ((old: object) => ({ ...old, ...changes })) as never, replace: true });
  return [search, set];
}
