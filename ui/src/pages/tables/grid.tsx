// A list of objects as rows and columns.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { data } from "../../api/tables";
import type { Table as TableType } from "../../api/types";
import { type Column, Empty, Loaded, Table } from "../../kit";
import { useWords } from "../../words";

type Line = { key: string; value: unknown };
const MOST_COLUMNS = 20;

/** Items of a list, fields of an object; one value is one line. */
export function linesOf(value: unknown): Line[] {
  if (Array.isArray(value)) return value.map((item, at) => ({ key: String(at), value: item }));
  if (value && typeof value === "object") return Object.entries(value).map(([key, item]) => ({ key, value: item }));
  return [{ key: "", value }];
}

const show = (value: unknown) => (typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value));

const CELL_CHARACTERS = 200;
const cut = (text: string) => (text.length > CELL_CHARACTERS ? `${text.slice(0, CELL_CHARACTERS)}…` : text);

export function Grid({ of, path }: { of: TableType; path: string }) {
  const words = useWords();
  const query = useQuery(data(of.id, path));
  const lines = useMemo(() => linesOf(query.data?.data), [query.data]);
  const columns = useMemo(() => {
    const fields = new Set<string>();
    for (const { value } of lines.slice(0, 200)) {
      if (value && typeof value === "object" && !Array.isArray(value))
        for (const key of Object.keys(value)) fields.add(key);
    }
    const shown = [...fields].slice(0, MOST_COLUMNS);
    const key: Column<Line> = { id: " key", label: words.tables.key, cell: (line) => line.key };
    if (shown.length === 0)
      return [key, { id: " value", label: words.form.value, cell: (line: Line) => show(line.value) }];
    const own = shown.map(
      (field): Column<Line> => ({
        id: field,
        label: field,
        cell: ({ value }) => show((value as Record<string, unknown> | null)?.[field]),
      }),
    );
    const isPlain = ({ value }: Line) => !value || typeof value !== "object" || Array.isArray(value);
    const other = {
      id: " value",
      label: words.form.value,
      cell: (line: Line) => isPlain(line) && cut(show(line.value)),
    };
    return lines.some(isPlain) ? [key, ...own, other] : [key, ...own];
  }, [lines, words]);
  return (
    <Loaded query={query}>
      {() =>
        lines.length > 0 ? (
          <Table label={words.tables.rows} columns={columns} rows={lines} id={(line) => line.key} />
        ) : (
          <Empty title={words.tables.nothing} />
        )
      }
    </Loaded>
  );
}
