// Doors: MCP endpoints with a key of their own and chosen tools.
import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { rememberKey } from "../../api/door-keys";
import { create, doors, type NewDoor } from "../../api/doors";
import { messageAt } from "../../api/error";
import { useMay } from "../../api/session";
import type { Door } from "../../api/types";
import { StateBadge } from "../../catalog/badges";
import { NewDoorDialog } from "../../catalog/new-door";
import { ActionErrors, useAction } from "../../form/action";
import { Button, type Column, Dialog, Header, Link, List, Loaded, Row, Stack, TextField } from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";

const text = (door: Door) => `${door.name} ${door.description ?? ""}`;
const id = (door: Door) => door.id;

export default function Doors() {
  const words = useWords();
  const format = useFormat();
  const may = useMay();
  const all = useQuery(doors);
  const [isAdding, setAdding] = useState(false);
  const columns: Column<Door>[] = [
    { id: "name", label: words.field.name, cell: (door) => <Link to={`/ui/doors/${door.id}`}>{door.name}</Link> },
    { id: "prefix", label: words.doors.key, cell: (door) => <code>{door.prefix}…</code> },
    { id: "status", label: words.field.status, cell: (door) => <StateBadge state={door.status} /> },
    { id: "updated", label: words.field.updated, kind: "nowrap", cell: (door) => format.time(door.updated_at) },
  ];
  const add = may("make_instances") && (
    <Button look="primary" icon={<Plus size={16} aria-hidden />} onClick={() => setAdding(true)}>
      {words.things.doors.add}
    </Button>
  );
  return (
    <Stack>
      <Header title={words.nav.doors}>{add}</Header>
      <Loaded query={all}>
        {(rows) => (
          <List
            things={words.things.doors}
            rows={rows}
            columns={columns}
            id={id}
            text={text}
            empty={words.doors.empty}
          />
        )}
      </Loaded>
      <AddDoor open={isAdding} onClose={() => setAdding(false)} />
    </Stack>
  );
}

function AddDoor({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = useWords();
  const [name, setName] = useState("");
  const [made, setMade] = useState<NewDoor | null>(null);
  const action = useAction(() => create(name), words.done.saved);
  const error = messageAt(action.problems, "name");
  const save = async () => {
    const door = await action.run();
    if (!door) return;
    rememberKey(door.id, door.api_key);
    setMade(door);
    onClose();
  };
  return (
    <>
      <Dialog title={words.things.doors.add} open={open} onClose={onClose} onSubmit={save}>
        <Stack>
          <TextField label={words.field.name} required value={name} error={error} onValue={setName} />
          <ActionErrors of={action} />
          <Row at="end">
            <Button look="primary" disabled={action.isBusy} onClick={save}>
              {words.act.save}
            </Button>
          </Row>
        </Stack>
      </Dialog>
      <NewDoorDialog door={made} onClose={() => setMade(null)} />
    </>
  );
}
