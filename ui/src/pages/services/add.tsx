// "Add service": which type, then its settings, or its OpenAPI document.
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { create, serviceTypes, validate } from "../../api/services";
import type { ServiceType } from "../../api/types";
import { serviceAddress } from "../../catalog/address";
import { type FormValue, SchemaForm } from "../../form";
import { ActionErrors, useAction } from "../../form/action";
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
  const [{ type: wished = "" }] = useAddress<"type">();
  const [chosen, setChosen] = useState(wished);
  return (
    <Stack gap="loose">
      <Header title={words.things.services.add} />
      <Loaded query={types}>
        {(all) => {
          const type = all.find((one) => one.type === chosen);
          const options = all.map((one) => ({ value: one.type, label: typeTitle(words, one) }));
          return (
            <>
              <Choices label={words.field.type} value={chosen} options={options} onValue={setChosen} />
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

function Settings({ type }: { type: ServiceType }) {
  const words = useWords();
  const navigate = useNavigate();
  const [draft, setDraft] = useState({ id: "", name: "" });
  const [config, setConfig] = useState<FormValue>({});
  const work = () => create({ type: type.type, id: draft.id, name: draft.name || undefined, config });
  const action = useAction(work, words.done.saved);
  const probe = useAction(() =>
    validate({ type: type.type, id: draft.id, name: draft.name || undefined, config, test: true }),
  );
  const [probed, setProbed] = useState<Checked | null>(null);
  const test = async () => setProbed((await probe.run()) ?? null);
  const problems = [...action.problems, ...(probed?.errors ?? [])];
  const save = async () => {
    const made = await action.run();
    if (made) navigate({ to: serviceAddress(made.type, made.id) });
  };
  const onKeyDown = useSubmitKey(save);
  const error = (path: string) => problems.find((problem) => problem.path === path)?.message;
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
          onValue={(id) => setDraft({ ...draft, id })}
        />
        <TextField
          label={words.field.name}
          value={draft.name}
          error={error("name")}
          onValue={(name) => setDraft({ ...draft, name })}
        />
        <SchemaForm
          schema={type.settings_schema as FormValue}
          value={config}
          onValue={setConfig}
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
