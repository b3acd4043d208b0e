// Tables: JSON documents, uploaded or made by tools.
import { useQuery } from "@tanstack/react-query";
import { Upload as UploadIcon } from "lucide-react";
import { useState } from "react";
import { useMay } from "../../api/session";
import { tables } from "../../api/tables";
import type { Table } from "../../api/types";
import { Button, type Column, Header, Link, List, Loaded, Stack, useAddress } from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";
import { AddDialog, UploadDialog } from "./dialogs";

const text = (table: Table) => `${table.name} ${table.description ?? ""}`;
const id = (table: Table) => table.id;

export default function Tables() {
  const words = useWords();
  const format = useFormat();
  const may = useMay();
  const all = useQuery(tables);
  const [{ upload: asked }, setAddress] = useAddress<"upload">();
  const columns: Column<Table>[] = [
    { id: "name", label: words.field.name, cell: (table) => <Link to={`/ui/tables/${table.id}`}>{table.name}</Link> },
    { id: "description", label: words.field.description, cell: (table) => table.description },
    { id: "size", label: words.field.size, kind: "number", cell: (table) => format.bytes(table.size_bytes) },
    { id: "version", label: words.field.version, kind: "number", cell: (table) => table.version },
    { id: "updated", label: words.field.updated, kind: "nowrap", cell: (table) => format.time(table.updated_at) },
  ];
  const [isAdding, setAdding] = useState(false);
  const add = may("make_tools") && (
    <>
      <Button onClick={() => setAdding(true)}>{words.things.tables.add}</Button>
      <Button look="primary" icon={<UploadIcon size={16} aria-hidden />} onClick={() => setAddress({ upload: "1" })}>
        {words.tables.upload}
      </Button>
    </>
  );
  return (
    <Stack>
      <Header title={words.nav.tables}>{add}</Header>
      <Loaded query={all}>
        {(rows) => (
          <List
            things={words.things.tables}
            rows={rows}
            columns={columns}
            id={id}
            text={text}
            empty={words.tables.empty}
          />
        )}
      </Loaded>
      <UploadDialog open={!!asked} onClose={() => setAddress({ upload: undefined })} />
      <AddDialog open={isAdding} onClose={() => setAdding(false)} />
    </Stack>
  );
}
