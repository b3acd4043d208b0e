// What a table was before, and a way back.
import { useQuery } from "@tanstack/react-query";
import { useMay } from "../../api/session";
import { restore, versions } from "../../api/tables";
import type { Table as TableType } from "../../api/types";
import { useNames } from "../../catalog/names";
import { ActionErrors, useAction } from "../../form/action";
import { Button, type Column, Loaded, Stack, Table } from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";

type Version = { version: number; at: string; changed_by: string };

export function TableVersions({ of }: { of: TableType }) {
  const words = useWords();
  const format = useFormat();
  const may = useMay();
  const nameOf = useNames();
  const all = useQuery(versions(of.id));
  const back = useAction((version: number) => restore(of.id, version), words.done.restored);
  const columns: Column<Version>[] = [
    { id: "version", label: words.field.version, cell: (row) => row.version },
    { id: "at", label: words.field.at, cell: (row) => format.time(row.at) },
    { id: "by", label: words.field.by, cell: (row) => nameOf(row.changed_by) },
    {
      id: "back",
      label: words.act.rollBack,
      cell: (row) =>
        row.version !== of.version &&
        may("make_tools") && <Button onClick={() => back.run(row.version)}>{words.act.rollBack}</Button>,
    },
  ];
  return (
    <Stack>
      <ActionErrors of={back} />
      <Loaded query={all}>
        {(rows) => (
          <Table label={words.tools.versions} columns={columns} rows={rows} id={(row) => String(row.version)} />
        )}
      </Loaded>
    </Stack>
  );
}
