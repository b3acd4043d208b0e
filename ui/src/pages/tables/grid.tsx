// A list of objects as rows and columns, a page at a time: a document may be larger than a browser has room for.
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { writeJson } from "../../api/json";
import { type Row as Line, ROWS, rows } from "../../api/tables";
import type { Table as TableType } from "../../api/types";
import { isSchema } from "../../form/schema";
import { type Column, cut, Empty, Loaded, Pager, Stack, Table, visible } from "../../kit";
import { useWords } from "../../words";

const MOST_COLUMNS = 20;

const show = (value: unknown) => (typeof value === "string" ? value : value === undefined ? "" : writeJson(value));

const CELL_CHARACTERS = 200;
const cell = (value: unknown) => cut(show(value), CELL_CHARACTERS);

export function Grid({ of, path }: { of: TableType; path: string }) {
  const words = useWords();
  const [page, setPage] = useState(1);
  const query = useQuery({ ...rows(of.id, path, page), placeholderData: (old) => old });
  const lines = useMemo(() => query.data?.rows ?? [], [query.data]);
  const columns = useMemo(() => {
    const fields = new Set<string>();
    for (const { value } of lines) {
      if (isSchema(value)) for (const key of Object.keys(value)) fields.add(key);
    }
    const shown = [...fields].slice(0, MOST_COLUMNS);
    const key: Column<Line> = {
      id: " key",
      label: words.tables.key,
      cell: (line) => line.key || words.tables.emptyKey,
    };
    if (shown.length === 0)
      return [key, { id: " value", label: words.form.value, cell: (line: Line) => cell(line.value) }];
    const own = shown.map(
      (field): Column<Line> => ({
        id: field,
        label: visible(cut(field)) || words.tables.emptyKey,
        cell: ({ value }) => cell((value as Record<string, unknown> | null)?.[field]),
      }),
    );
    const isPlain = ({ value }: Line) => !isSchema(value) || Object.keys(value).length === 0;
    const other = {
      id: " value",
      label: words.form.value,
      cell: (line: Line) => isPlain(line) && cell(line.value),
    };
    return lines.some(isPlain) ? [key, ...own, other] : [key, ...own];
  }, [lines, words]);
  return (
    <Loaded query={query}>
      {({ total }) =>
        lines.length > 0 ? (
          <Stack>
            <Table label={words.tables.rows} columns={columns} rows={lines} id={(line) => line.key} />
            <Pager page={page} total={total} limit={ROWS} onPage={setPage} />
          </Stack>
        ) : (
          <Empty title={words.tables.nothing} />
        )
      }
    </Loaded>
  );
}
