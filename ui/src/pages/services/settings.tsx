// The settings of a service. Nothing typed is lost when somebody else has saved meanwhile.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "../../api/error";
import { service, serviceTypes, update } from "../../api/services";
import { useMay } from "../../api/session";
import type { Service } from "../../api/types";
import { type FormValue, SchemaForm } from "../../form";
import { ActionErrors, useAction } from "../../form/action";
import { ConflictDialog } from "../../form/conflict";
import { useSubmitKey } from "../../form/submit-key";
import { Button, Loaded, Row, Stack, TextField } from "../../kit";
import { useWords } from "../../words";

type Draft = { name: string; description: string; config: FormValue; version: number | null | undefined };

const draftOf = (of: Service): Draft => ({
  name: of.name,
  description: of.description ?? "",
  config: of.config as FormValue,
  version: of.version,
});
const write = ({ version: _version, ...draft }: Draft) => JSON.stringify(draft, null, 2);

export function ServiceSettings({ of }: { of: Service }) {
  const words = useWords();
  const queries = useQueryClient();
  const [draft, setDraft] = useState<Draft>(() => draftOf(of));
  const [theirs, setTheirs] = useState<Service | null>(null);
  const action = useAction(async (mine: Draft) => {
    try {
      const saved = await update(of.type, of.id, { ...mine, description: mine.description || null });
      setDraft(draftOf(saved));
    } catch (error) {
      if (!(error instanceof ApiError && error.isConflict)) throw error;
      setTheirs(await queries.fetchQuery({ ...service(of.type, of.id), staleTime: 0 }));
      throw error;
    }
  }, words.done.saved);
  const keepMine = () => {
    const mine = { ...draft, version: theirs?.version };
    setTheirs(null);
    void action.run(mine);
  };
  const takeTheirs = () => {
    if (theirs) setDraft(draftOf(theirs));
    setTheirs(null);
    action.clear();
  };
  return (
    <>
      <Fields of={of} draft={draft} onDraft={setDraft} action={action} onSave={() => action.run(draft)} />
      <ConflictDialog
        mine={write(draft)}
        theirs={theirs && write(draftOf(theirs))}
        onMine={keepMine}
        onTheirs={takeTheirs}
        onClose={() => setTheirs(null)}
      />
    </>
  );
}

type FieldsProps = {
  of: Service;
  draft: Draft;
  onDraft: (draft: Draft) => void;
  action: ReturnType<typeof useAction<[Draft], void>>;
  onSave: () => void;
};

function Fields({ of, draft, onDraft, action, onSave }: FieldsProps) {
  const words = useWords();
  const may = useMay();
  const types = useQuery(serviceTypes);
  const isReadOnly = of.source !== "store" || !may("manage");
  const onKeyDown = useSubmitKey(() => !isReadOnly && onSave());
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: one key for the whole form
    <div onKeyDown={onKeyDown}>
      <Stack>
        <ActionErrors of={action} />
        <TextField
          label={words.field.name}
          value={draft.name}
          readOnly={isReadOnly}
          onValue={(name) => onDraft({ ...draft, name })}
        />
        <TextField
          label={words.field.description}
          value={draft.description}
          readOnly={isReadOnly}
          onValue={(description) => onDraft({ ...draft, description })}
        />
        <Loaded query={types}>
          {(all) => (
            <SchemaForm
              schema={(all.find((type) => type.type === of.type)?.settings_schema ?? {}) as FormValue}
              value={draft.config}
              onValue={(config) => onDraft({ ...draft, config })}
              problems={action.problems}
              prefix="config"
              isReadOnly={isReadOnly}
            />
          )}
        </Loaded>
        {!isReadOnly && (
          <Row>
            <Button look="primary" disabled={action.isBusy} onClick={onSave}>
              {words.act.save}
            </Button>
          </Row>
        )}
      </Stack>
    </div>
  );
}
