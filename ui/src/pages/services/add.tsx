// "Add service": which type, then its settings, or its OpenAPI document.
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { messageAt } from "../../api/error";
import { create, serviceTypes, validate } from "../../api/services";
import type { ServiceType } from "../../api/types";
import { serviceAddress } from "../../catalog/address";
import { rememberSaved } from "../../catalog/saved";
import { type FormValue, SchemaForm } from "../../form";
import { ActionErrors, useAction } from "../../form/action";
import { useKept } from "../../form/kept";
import { withoutSecrets } from "../../form/secrets";
import { useIsWhole } from "../../form/whole";
import {
  Button,
  Choices,
  Header,
  Loaded,
  LocalTabs,
  Problems,
  Row,
  Stack,
  TextField,
  useAddress,
  useSubmitKey,
} from "../../kit";
import { useWords, type Words } from "../../words";
import { Import } from "./import";
import { ProbeNote } from "./probe";

type Checked = Awaited<ReturnType<typeof validate>>;

export default function AddService() {
  const words = useWords();
  const types = useQuery(serviceTypes);
  // In the address, so that whoever comes back finds what they typed.
  const [{ type: chosen = "" }, setAddress] = useAddress<"type">();
  return (
    <Stack gap="loose">
      <Header title={words.things.services.add} />
      <Loaded query={types}>
        {(all) => {
          const type = all.find((one) => one.type === chosen);
          const options = all.map((one) => ({ value: one.type, label: typeTitle(words, one) }));
          return (
            <>
              <Choices
                label={words.field.type}
                value={chosen}
                options={options}
                onValue={(type) => setAddress({ type })}
              />
              {type && <New key={type.type} type={type} />}
            </>
          );
        }}
      </Loaded>
    </Stack>
  );
}

/** In English the server's own title; in other languages ours, where we have one. */
function typeTitle(words: Words, { type, title }: ServiceType): string {
  const own = (words.services.types as Record<string, string>)[type];
  return words.language === "English" ? title : (own ?? title);
}

function New({ type }: { type: ServiceType }) {
  const words = useWords();
  const settings = { id: "settings", label: words.services.settings, body: () => <Settings type={type} /> };
  const document = { id: "openapi", label: words.services.openapi, body: () => <Import type={type} /> };
  return <LocalTabs label={words.services.how} tabs={type.type === "api" ? [settings, document] : [settings]} />;
}

type Draft = { id: string; name: string; config: FormValue };
const NOTHING: Draft = { id: "", name: "", config: {} };

function Settings({ type }: { type: ServiceType }) {
  const words = useWords();
  const navigate = useNavigate();
  const schema = type.settings_schema as FormValue;
  const [{ config, ...draft }, setKept, forget] = useKept<Draft>({
    place: ["services", null, type.type],
    begin: () => NOTHING,
    isEdited: (now) => JSON.stringify(now) !== JSON.stringify(NOTHING),
    bare: (now) => ({ ...now, config: withoutSecrets(now.config, schema) }),
  });
  const setDraft = (changes: Partial<Draft>) => setKept((old) => ({ ...old, ...changes }));
  const work = () => create({ type: type.type, id: draft.id, name: draft.name || undefined, config });
  const action = useAction(work, words.done.saved);
  const probe = useAction(() =>
    validate({ type: type.type, id: draft.id, name: draft.name || undefined, config, test: true }),
  );
  const [probed, setProbed] = useState<Checked | null>(null);
  const isWhole = useIsWhole();
  const test = async () => isWhole() && setProbed((await probe.run()) ?? null);
  const problems = [...action.problems, ...(probed?.errors ?? [])];
  const save = async () => {
    const made = isWhole() && (await action.run());
    if (!made) return;
    forget();
    rememberSaved(serviceAddress(made.type, made.id), made);
    navigate({ to: serviceAddress(made.type, made.id) });
  };
  const onKeyDown = useSubmitKey(save);
  const error = (path: string) => messageAt(problems, path);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: one key for the whole form
    <div onKeyDown={onKeyDown}>
      <Stack>
        <ActionErrors of={action} />
        <ActionErrors of={probe} />
        {!action.error && probed && probed.errors.length > 0 && (
          <Problems title={words.state.problems(probed.errors.length)} all={probed.errors} />
        )}
        <ProbeNote of={probed?.test} />
        <TextField
          label={words.field.id}
          hint={words.services.idHint}
          value={draft.id}
          error={error("id")}
          required
          onValue={(id) => setDraft({ id })}
        />
        <TextField
          label={words.field.name}
          value={draft.name}
          error={error("name")}
          onValue={(name) => setDraft({ name })}
        />
        <SchemaForm
          schema={schema}
          value={config}
          onValue={(config) => setDraft({ config })}
          problems={problems}
          prefix="config"
        />
        <Row>
          <Button look="primary" disabled={action.isBusy} onClick={save}>
            {words.act.save}
          </Button>
          <Button disabled={probe.isBusy} onClick={test}>
            {words.act.test}
          </Button>
        </Row>
      </Stack>
    </div>
  );
}
