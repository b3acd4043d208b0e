// "Add tool": an HTTP request, another name for a tool, or an operation on a table.
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { catalog } from "../../api/catalog";
import { tables } from "../../api/tables";
import { create, update } from "../../api/tools";
import { ActionErrors, useAction } from "../../form/action";
import { useKept } from "../../form/kept";
import { useSignedOut } from "../../form/secrets";
import { useIsWhole } from "../../form/whole";
import { Button, Choices, Header, Row, Stack, useAddress } from "../../kit";
import { useWords } from "../../words";
import { Definition, type Draft } from "./definition";
import { useBareTool } from "./http-settings";

const KINDS = ["http", "uri", "query_data"] as const;

/** A tool may have been made for a sample, before the rest was ready: from then on it is changed, and active once saved. */
type Kept = { draft: Draft; known: string | null };

export default function AddTool() {
  const words = useWords();
  const navigate = useNavigate();
  const { data } = useQuery(tables);
  useQuery(catalog);
  const [{ table_id, json_path, type = "http" }] = useAddress<"table_id" | "json_path" | "type">();
  const start = startOf(type, { table_id, json_path });
  const bare = useBareTool();
  const [{ draft, known }, setKept, forget] = useKept<Kept>({
    place: ["tools", null, type, table_id, json_path],
    begin: () => ({ draft: start, known: null }),
    bare: (kept) => ({ ...kept, draft: bare(kept.draft) }),
    isEdited: (kept) =>
      JSON.stringify(kept.draft) !== JSON.stringify(startOf(kept.draft.type, { table_id, json_path })),
  });
  useSignedOut(() => setDraft(bare(draft)));
  const setDraft = (draft: Draft) => setKept((old) => ({ ...old, draft }));
  const action = useAction((status: "active" | "testing") => {
    const { type: _type, ...changes } = draft;
    return known ? update(known, { ...changes, status }) : create({ ...draft, status });
  }, words.done.saved);
  const isWhole = useIsWhole();
  const save = async () => {
    const made = isWhole() && (await action.run("active"));
    if (!made) return;
    forget();
    navigate({ to: `/ui/tools/${made.id}` });
  };
  const make = async () => {
    const made = isWhole() ? await action.run("testing") : undefined;
    if (made) setKept((old) => ({ ...old, known: made.id }));
    return made?.id;
  };
  const group = draft.type === "http" || draft.type === "uri" ? draft.type : "query_data";
  const options = KINDS.map((value) => ({ value, label: words.tools.kinds[value] }));
  return (
    <Stack gap="loose">
      <Header title={words.things.tools.add} />
      <Choices
        label={words.field.type}
        value={group}
        options={options}
        onValue={(next) =>
          setKept({
            draft: { ...startOf(next, {}), name: draft.name, description: draft.description },
            known: null,
          })
        }
      />
      <ActionErrors of={action} />
      <Definition
        draft={draft}
        onDraft={setDraft}
        problems={action.problems}
        tables={data ?? []}
        onSubmit={save}
        onMake={make}
      />
      <Row>
        <Button look="primary" disabled={action.isBusy} onClick={save}>
          {words.act.save}
        </Button>
      </Row>
    </Stack>
  );
}

function startOf(type: string, given: { table_id?: string; json_path?: string }): Draft {
  if (type === "http") return { name: "", type, config: { HTTP: { endpoint: "", method: "GET", parameters: [] } } };
  if (type === "uri") return { name: "", type, uri: "" };
  return { name: "", type, table_id: given.table_id ?? "", json_path: given.json_path ?? "" };
}
