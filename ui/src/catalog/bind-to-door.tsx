// "Bind to a door": one that is there, or a new one with its key.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { rememberKey } from "../api/door-keys";
import { bind, create, doors, type NewDoor } from "../api/doors";
import type { Door, Tool } from "../api/types";
import { ActionErrors, useAction } from "../form/action";
import { Button, Dialog, LinkButton, Loaded, Name, Row, Stack } from "../kit";
import css from "../kit/show.module.css";
import { useWords } from "../words";
import { entryOf } from "./address";
import { NewDoorDialog } from "./new-door";

export function BindToDoor({ tool }: { tool: Tool }) {
  const words = useWords();
  const [isOpen, setOpen] = useState(false);
  const [made, setMade] = useState<NewDoor | null>(null);
  const add = useAction(async () => {
    const door = await create(tool.name);
    rememberKey(door.id, door.api_key);
    await bind(door.id, [entryOf(tool)]);
    return door;
  });
  const addDoor = async () => {
    const door = await add.run();
    if (!door) return;
    setOpen(false);
    setMade(door);
  };
  return (
    <>
      <Button look="primary" onClick={() => setOpen(true)}>
        {words.doors.bindTo}
      </Button>
      <Dialog title={words.doors.bindTo} open={isOpen} onClose={() => setOpen(false)}>
        <Stack>
          <Known tool={tool} />
          <ActionErrors of={add} />
          <Row at="end">
            <Button look="primary" disabled={add.isBusy} onClick={addDoor}>
              {words.doors.new}
            </Button>
          </Row>
        </Stack>
      </Dialog>
      <NewDoorDialog door={made} onClose={() => setMade(null)} />
    </>
  );
}

function Known({ tool }: { tool: Tool }) {
  const words = useWords();
  const all = useQuery(doors);
  const [bound, setBound] = useState<string[]>([]);
  const action = useAction(async (door: Door) => {
    await bind(door.id, [entryOf(tool)]);
    setBound((old) => [...old, door.id]);
  }, words.done.saved);
  return (
    <Loaded query={all}>
      {(rows) => (
        <Stack>
          <ActionErrors of={action} />
          <ul className={css.list}>
            {rows.map((door) => (
              <li key={door.id}>
                <Row at="between">
                  <Name>{door.name}</Name>
                  {bound.includes(door.id) ? (
                    <LinkButton to={`/ui/doors/${door.id}`}>{words.act.open}</LinkButton>
                  ) : (
                    <Button onClick={() => action.run(door)} aria-label={words.doors.bindOne(door.name)}>
                      {words.doors.bind}
                    </Button>
                  )}
                </Row>
              </li>
            ))}
          </ul>
        </Stack>
      )}
    </Loaded>
  );
}
