// "Make a tool": an operation on the part of the table that is chosen.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { messageAt } from "../../api/error";
import { create } from "../../api/tools";
import type { Table } from "../../api/types";
import { ActionErrors, useAction } from "../../form/action";
import { Button, Dialog, Mono, Row, SelectField, Stack, TextField } from "../../kit";
import { useWords } from "../../words";

const TYPES = [
  "query_data",
  "get_all_data",
  "get_data_schema",
  "search",
  "create",
  "update",
  "delete",
  "preview",
  "select",
] as const;
type Type = (typeof TYPES)[number];

/** `query_orders` for the list `orders`. */
function suggest(type: Type, path: string, table: string): string {
  const part = (path.split("/").pop() || table).replace(/[^A-Za-z0-9_-]/g, "_");
  const verb = type.replace(/_data(_schema)?$/, "$1").replace("get_all", "get");
  return `${verb}_${part}`;
}

export function MakeTool({ of, path, open, onClose }: { of: Table; path: string; open: boolean; onClose: () => void }) {
  const words = useWords();
  const navigate = useNavigate();
  const [type, setType] = useState<Type>("query_data");
  const [typed, setTyped] = useState<string | null>(null);
  const name = typed ?? suggest(type, path, of.name);
  const body = { name, type, table_id: of.id, json_path: path };
  const action = useAction(() => create(body), words.done.saved);
  const save = async () => {
    const made = await action.run();
    if (made) navigate({ to: `/ui/tools/${made.id}` });
  };
  const error = (field: string) => messageAt(action.problems, field);
  const options = TYPES.map((value) => ({ value, label: words.tables.types[value] }));
  return (
    <Dialog title={words.tables.make} open={open} onClose={onClose} onSubmit={save}>
      <Stack>
        <Row>
          {words.tables.part} <Mono>{path || "/"}</Mono>
        </Row>
        <SelectField
          label={words.field.type}
          value={type}
          options={options}
          error={error("type")}
          onValue={(value) => setType(value as Type)}
        />
        <TextField label={words.field.name} required value={name} error={error("name")} onValue={setTyped} />
        <ActionErrors of={action} />
        <Row at="end">
          <Button look="primary" disabled={action.isBusy} onClick={save}>
            {words.act.save}
          </Button>
        </Row>
      </Stack>
    </Dialog>
  );
}
