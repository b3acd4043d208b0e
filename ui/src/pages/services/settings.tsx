// The settings of a service. Nothing typed is lost when somebody else has saved meanwhile.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { messageAt } from "../../api/error";
import { writeJson } from "../../api/json";
import { service, serviceTypes, update } from "../../api/services";
import { useMay } from "../../api/session";
import type { Service } from "../../api/types";
import { serviceAddress } from "../../catalog/address";
import { rememberSaved } from "../../catalog/saved";
import { type FormValue, SchemaForm } from "../../form";
import { type Action, ActionErrors } from "../../form/action";
import { ConflictDialog } from "../../form/conflict";
import { useGuarded } from "../../form/guarded";
import { withoutSecrets } from "../../form/secrets";
import { Button, LinesField, Loaded, Row, Stack, TextField, useSubmitKey } from "../../kit";
import { useWords } from "../../words";

type Draft = { name: string; description: string; config: FormValue; version: number | null | undefined };

const draftOf = (of: Service): Draft => ({
  name: of.name,
  description: of.description ?? "",
  config: of.config as FormValue,
  version: of.version,
});
const write = ({ version: _version, ...draft }: Draft) => writeJson(draft, 2);

export function ServiceSettings({ of }: { of: Service }) {
  const words = useWords();
  const queries = useQueryClient();
  const { data: types } = useQuery(serviceTypes);
  const schema = (types?.find((type) => type.type === of.type)?.settings_schema ?? {}) as FormValue;
  const { draft, setDraft, action, save, conflict } = useGuarded<Draft, Service>(of, {
    place: ["services", of.type, of.id],
    bare: (mine, over) => ({ ...mine, config: withoutSecrets(mine.config, schema, over.config) }),
    save: async (mine) => {
      const saved = await update(of.type, of.id, { ...mine, description: mine.description || null });
      rememberSaved(serviceAddress(of.type, of.id), saved);
      return saved;
    },
    read: () => queries.fetchQuery({ ...service(of.type, of.id), staleTime: 0 }),
    draftOf,
    write,
    done: words.done.saved,
  });
  return (
    <>
      <Fields of={of} draft={draft} onDraft={setDraft} action={action} onSave={save} />
      <ConflictDialog {...conflict} />
    </>
  );
}

type FieldsProps = {
  of: Service;
  draft: Draft;
  onDraft: (draft: Draft) => void;
  action: Action<[Draft, Service], Service>;
  onSave: () => void;
};

function Fields({ of, draft, onDraft, action, onSave }: FieldsProps) {
  const words = useWords();
  const may = useMay();
  const types = useQuery(serviceTypes);
  const isReadOnly = of.source !== "store" || !may("make_services");
  const onKeyDown = useSubmitKey(() => !isReadOnly && onSave());
  const error = (path: string) => messageAt(action.problems, path);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: one key for the whole form
    <div onKeyDown={onKeyDown}>
      <Stack>
        <ActionErrors of={action} />
        <TextField
          label={words.field.name}
          value={draft.name}
          error={error("name")}
          readOnly={isReadOnly}
          onValue={(name) => onDraft({ ...draft, name })}
        />
        <LinesField
          isLong
          label={words.field.description}
          value={draft.description}
          error={error("description")}
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
              saved={of.config as FormValue}
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
