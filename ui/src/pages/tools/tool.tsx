// One Tool of the tenant's own.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { shownTool } from "../../api/catalog";
import { writeJson } from "../../api/json";
import { me, useMay } from "../../api/session";
import { tables } from "../../api/tables";
import { definitionOf, remove, toolQuery, update } from "../../api/tools";
import type { CatalogTool, Tool } from "../../api/types";
import { entryOf } from "../../catalog/address";
import { StateBadge } from "../../catalog/badges";
import { BindToDoor } from "../../catalog/bind-to-door";
import { rememberSaved, SavedNotes } from "../../catalog/saved";
import { TryPanel } from "../../catalog/try-panel";
import { ActionErrors, useAction } from "../../form/action";
import { ConflictDialog } from "../../form/conflict";
import { useGuarded } from "../../form/guarded";
import { useSignedOut } from "../../form/secrets";
import { Button, DeleteButton, Header, LoadedPage, Muted, PageTabs, Row, Stack } from "../../kit";
import { useWords } from "../../words";
import { Definition, type Draft } from "./definition";
import { ToolDoors } from "./doors";
import { useBareTool } from "./http-settings";
import { Versions } from "./versions";

type Edited = Draft & { version?: number | null };

export default function ToolPage() {
  const words = useWords();
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  const isCaller = useQuery(me).data?.role === "caller";
  return (
    <LoadedPage title={words.nav.tools} query={useQuery(shownTool(id, isCaller))}>
      {(shown) =>
        "address" in shown ? <ToolTabs key={shown.id} tool={shown} /> : <Callable key={shown.uri} entry={shown} />
      }
    </LoadedPage>
  );
}

/** Somebody else's Tool, which one may call. */
function Callable({ entry }: { entry: CatalogTool }) {
  return (
    <Stack>
      <Header title={entry.name} badge={<StateBadge state={entry.status} />} />
      {entry.summary && <Muted>{entry.summary}</Muted>}
      <TryPanel entry={entry} />
    </Stack>
  );
}

function ToolTabs({ tool }: { tool: Tool }) {
  const words = useWords();
  const may = useMay();
  const navigate = useNavigate();
  const gone = useAction(async () => {
    await remove(tool.id);
    navigate({ to: "/ui/tools" });
  }, words.done.deleted);
  return (
    <Stack>
      <Header title={tool.name} badge={<StateBadge state={tool.status} />}>
        {may("make_instances") && <BindToDoor tool={tool} />}
        {may("make_tools") && <DeleteButton what={tool.name} onDelete={() => gone.run()} />}
      </Header>
      <SavedNotes of={tool.id} />
      <ActionErrors of={gone} />
      <PageTabs
        label={tool.name}
        tabs={[
          { id: "definition", label: words.tools.definition, body: () => <Edit tool={tool} /> },
          { id: "try", label: words.act.tryIt, body: () => <TryPanel entry={entryOf(tool)} /> },
          { id: "versions", label: words.tools.versions, body: () => <Versions tool={tool} /> },
          { id: "doors", label: words.nav.doors, body: () => <ToolDoors tool={tool} /> },
        ]}
      />
    </Stack>
  );
}

function Edit({ tool }: { tool: Tool }) {
  const words = useWords();
  const may = useMay();
  const queries = useQueryClient();
  const { data } = useQuery(tables);
  const bare = useBareTool();
  const { draft, setDraft, action, save, conflict } = useGuarded<Edited, Tool>(tool, {
    place: ["tools", tool.id],
    bare: (mine, over) => bare(mine, definitionOf(over)),
    save: async (mine, over) => {
      const saved = await update(tool.id, { ...changesOf(mine, over), version: mine.version });
      rememberSaved(tool.id, saved);
      return saved;
    },
    read: () => queries.fetchQuery({ ...toolQuery(tool.id), staleTime: 0 }),
    draftOf: (saved) => ({ ...(definitionOf(saved) as Draft), version: saved.version }),
    write: ({ version: _version, ...mine }) => writeJson(mine, 2),
    done: words.done.saved,
  });
  useSignedOut(() => setDraft(bare(draft, definitionOf(tool))));
  return (
    <Stack>
      <ActionErrors of={action} />
      <Definition
        id={tool.id}
        saved={definitionOf(tool)}
        draft={draft}
        onDraft={(next) => setDraft({ ...next, version: draft.version })}
        problems={action.problems}
        tables={data ?? []}
        onSubmit={save}
      />
      {may("make_tools") && (
        <Row>
          <Button look="primary" disabled={action.isBusy} onClick={save}>
            {words.act.save}
          </Button>
        </Row>
      )}
      <ConflictDialog {...conflict} />
    </Stack>
  );
}

/** Only what is another value than before; what was taken away is null. */
function changesOf({ version: _version, ...draft }: Edited, tool: Tool): Record<string, unknown> {
  const before = definitionOf(tool);
  const keys = new Set([...Object.keys(before), ...Object.keys(draft)]);
  keys.delete("id");
  const changed = [...keys].filter((key) => JSON.stringify(before[key]) !== JSON.stringify(draft[key]));
  return Object.fromEntries(changed.map((key) => [key, draft[key] ?? null]));
}
