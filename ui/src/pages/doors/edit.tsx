// What a door is called and what it is for; whoever else has changed it meanwhile is not written over.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { door, update } from "../../api/doors";
import { messageAt } from "../../api/error";
import { writeJson } from "../../api/json";
import type { Door } from "../../api/types";
import { ActionErrors } from "../../form/action";
import { ConflictDialog } from "../../form/conflict";
import { useGuarded } from "../../form/guarded";
import { Button, Dialog, LinesField, Row, Stack, TextField } from "../../kit";
import { useWords } from "../../words";

type Draft = { name: string; description: string; version?: number | null };

export function EditDoor({ of }: { of: Door }) {
  const words = useWords();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const { draft, setDraft, action, save, conflict } = useGuarded<Draft, Door>(of, {
    place: ["doors", of.id],
    save: ({ name, description, version }) => update(of.id, { name, description: description || null, version }),
    read: () => queries.fetchQuery({ ...door(of.id), staleTime: 0 }),
    draftOf: ({ name, description, version }) => ({ name, description: description ?? "", version }),
    write: ({ name, description }) => writeJson({ name, description }, 2),
    done: words.done.saved,
  });
  const store = async () => {
    if ((await save()) !== undefined) setOpen(false);
  };
  const error = (field: string) => messageAt(action.problems, field);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{words.act.edit}</Button>
      <Dialog
        title={words.people.edit(of.name)}
        open={isOpen && conflict.theirs === null}
        onClose={() => setOpen(false)}
        onSubmit={store}
      >
        <Stack>
          <TextField
            label={words.field.name}
            required
            value={draft.name}
            error={error("name")}
            onValue={(name) => setDraft({ ...draft, name })}
          />
          <LinesField
            label={words.field.description}
            isLong
            value={draft.description}
            error={error("description")}
            onValue={(description) => setDraft({ ...draft, description })}
          />
          <ActionErrors of={action} />
          <Row at="end">
            <Button look="primary" disabled={action.isBusy} onClick={store}>
              {words.act.save}
            </Button>
          </Row>
        </Stack>
      </Dialog>
      <ConflictDialog {...conflict} />
    </>
  );
}
