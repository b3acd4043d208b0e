// One tool of a service: its definition, where the service lets one make it, and a place to try it.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { catalog, partsOf } from "../../api/catalog";
import { messageAt } from "../../api/error";
import { writeJson } from "../../api/json";
import { removeTool, saveTool, serviceTool, serviceTypes } from "../../api/services";
import { useMay } from "../../api/session";
import type { ServiceTool } from "../../api/types";
import { serviceAddress } from "../../catalog/address";
import { TryPanel } from "../../catalog/try-panel";
import { type FormValue, SchemaForm } from "../../form";
import { ActionErrors, useAction } from "../../form/action";
import { ConflictDialog } from "../../form/conflict";
import { useGuarded } from "../../form/guarded";
import { HttpEditor } from "../../form/http";
import { withoutSecrets } from "../../form/secrets";
import {
  Button,
  Code,
  DeleteButton,
  Empty,
  Header,
  LinesField,
  LoadedPage,
  PageTabs,
  Row,
  Stack,
  Text,
  TextField,
  useSubmitKey,
} from "../../kit";
import { useWords } from "../../words";

type At = { type: string; id: string };
/** Where tools are made. */
const NEW = "new";

export default function ServiceToolPage() {
  const { type = "", id = "", tool = "" } = useParams({ strict: false }) as Partial<At & { tool: string }>;
  const at = { type, id };
  return tool === NEW ? <ToMake at={at} /> : <ToSee at={at} name={tool} />;
}

/** A tool may be called as this page is: the catalog knows, and nothing is asked for that is yet to be made. */
function ToMake({ at }: { at: At }) {
  const words = useWords();
  const canMake = useMay()("make_services");
  const isIt = ({ uri }: { uri: string }) => {
    const { type, service, tool } = partsOf(uri);
    return type === at.type && service === at.id && tool === NEW;
  };
  return (
    <LoadedPage title={words.things.tools.add} query={useQuery(catalog)}>
      {({ tools }) => {
        if (tools.some(isIt)) return <ToSee at={at} name={NEW} />;
        return canMake ? <NewTool at={at} /> : <NoTool name={NEW} />;
      }}
    </LoadedPage>
  );
}

function ToSee({ at, name }: { at: At; name: string }) {
  const words = useWords();
  return (
    <LoadedPage title={name} query={useQuery(serviceTool(at.type, at.id, name))}>
      {(known) =>
        known ? <KnownTool key={known.id} at={at} tool={known} label={words.nav.tools} /> : <NoTool name={name} />
      }
    </LoadedPage>
  );
}

function NoTool({ name }: { name: string }) {
  const words = useWords();
  return (
    <Stack>
      <Header title={name} />
      <Empty title={words.services.noTool}>{words.missing.detail}</Empty>
    </Stack>
  );
}

function NewTool({ at }: { at: At }) {
  const words = useWords();
  return (
    <Stack>
      <Header title={words.things.tools.add} />
      <EditTool at={at} tool={null} />
    </Stack>
  );
}

function KnownTool({ at, tool, label }: { at: At; tool: ServiceTool; label: string }) {
  const words = useWords();
  const may = useMay();
  const navigate = useNavigate();
  const canEdit = tool.definition !== null && tool.definition !== undefined && may("make_services");
  const gone = useAction(async () => {
    await removeTool(at.type, at.id, tool.id);
    navigate({ to: serviceAddress(at.type, at.id), search: { tab: "tools" } as never });
  }, words.done.deleted);
  const entry = { name: tool.name ?? tool.id, uri: tool.uri, kind: at.type };
  const schema = () => <Code>{writeJson(tool.inputSchema ?? {}, 2)}</Code>;
  return (
    <Stack>
      <Header title={tool.id}>{canEdit && <DeleteButton what={tool.id} onDelete={() => gone.run()} />}</Header>
      {tool.description && <Text>{tool.description}</Text>}
      <ActionErrors of={gone} />
      <PageTabs
        label={label}
        tabs={[
          {
            id: "definition",
            label: words.tools.definition,
            body: () => (canEdit ? <EditTool at={at} tool={tool} /> : schema()),
          },
          { id: "try", label: words.act.tryIt, body: () => <TryPanel entry={entry} /> },
        ]}
      />
    </Stack>
  );
}

const DRAWN_BY_EDITOR = ["id", "description", "endpoint", "method", "parameters", "response_template"];

/** A tool that is, or one that is to be, which has no id yet. */
type Saved = Pick<ServiceTool, "definition" | "version"> & Partial<ServiceTool>;
type Draft = { definition: FormValue; version?: number | null };

const NEW_HTTP = { id: "", endpoint: "", method: "GET", parameters: [] };

function EditTool({ at, tool }: { at: At; tool: ServiceTool | null }) {
  const words = useWords();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const types = useQuery(serviceTypes);
  const first: Saved = tool ?? { definition: at.type === "api" ? NEW_HTTP : { id: "" }, version: null };
  const schema = (types.data?.find((type) => type.type === at.type)?.tool_schema ?? {}) as FormValue;
  const guarded = useGuarded<Draft, Saved>(first, {
    place: ["services", at.type, at.id, "tools", tool?.id ?? null],
    bare: (mine, { definition }) => ({ ...mine, definition: withoutSecrets(mine.definition, schema, definition) }),
    save: ({ definition, version }, over) =>
      saveTool(at.type, at.id, over.id ?? null, over.id ? { ...definition, version } : definition),
    read: async () => {
      const query = serviceTool(at.type, at.id, tool?.id ?? "");
      return (await queries.fetchQuery({ ...query, staleTime: 0 })) ?? first;
    },
    draftOf: ({ definition, version }) => ({ definition: definition as FormValue, version }),
    write: ({ definition }) => writeJson(definition, 2),
    done: words.done.saved,
  });
  const { action, conflict } = guarded;
  const draft = guarded.draft.definition;
  const setDraft = (definition: FormValue) => guarded.setDraft({ ...guarded.draft, definition });
  const save = async () => {
    const saved = await guarded.save();
    if (saved?.id && saved.id !== tool?.id) navigate({ to: `${serviceAddress(at.type, at.id)}/tools/${saved.id}` });
  };
  // Made for a sample, before the rest is ready.
  const make = async () => {
    const saved = await guarded.save();
    return saved?.uri ? { uri: saved.uri } : undefined;
  };
  const onKeyDown = useSubmitKey(save);
  const isHttp = at.type === "api";
  const error = (path: string) => messageAt(action.problems, path);
  const text = (field: string) => String(draft[field] ?? "");
  const set = (field: string) => (value: string) => setDraft({ ...draft, [field]: value });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: one key for the whole form
    <div onKeyDown={onKeyDown}>
      <Stack>
        <ActionErrors of={action} />
        {isHttp && (
          <>
            <TextField label={words.field.name} required value={text("id")} error={error("id")} onValue={set("id")} />
            <LinesField
              isLong
              label={words.field.description}
              value={text("description")}
              error={error("description")}
              onValue={set("description")}
            />
            <HttpEditor
              value={draft}
              onValue={setDraft}
              problems={action.problems}
              prefix=""
              sample={tool ? { uri: tool.uri } : make}
              sampleKey={`${at.type} ${at.id} ${tool?.id ?? ""}`}
            />
          </>
        )}
        <SchemaForm
          schema={isHttp ? without(schema, DRAWN_BY_EDITOR) : schema}
          value={draft}
          onValue={setDraft}
          problems={action.problems}
          saved={(tool?.definition ?? undefined) as FormValue | undefined}
        />
        <Row>
          <Button look="primary" disabled={action.isBusy} onClick={save}>
            {words.act.save}
          </Button>
        </Row>
        <ConflictDialog {...conflict} />
      </Stack>
    </div>
  );
}

/** The schema without fields that have an editor of their own; the others are for those who look for them. */
function without(schema: FormValue, fields: string[]): FormValue {
  const defs = schema.$defs as Record<string, FormValue> | undefined;
  const name =
    String(schema.$ref ?? "")
      .split("/")
      .pop() ?? "";
  const own = (defs?.[name] ?? schema) as { properties?: Record<string, object> };
  const rest = Object.entries(own.properties ?? {}).filter(([key]) => !fields.includes(key));
  const advanced = rest.map(([key, value]) => [
    key,
    { ...value, "x-ui": { ...((value as FormValue)["x-ui"] as object), advanced: true } },
  ]);
  return { type: "object", $defs: defs, properties: Object.fromEntries(advanced) };
}
