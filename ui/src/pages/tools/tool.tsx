// One Tool of the tenant's own.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useCallback, useEffect, useState } from "react";
import { useMay } from "../../api/session";
import { tables } from "../../api/tables";
import { definitionOf, remove, toolQuery, update } from "../../api/tools";
import type { Tool } from "../../api/types";
import { entryOf } from "../../catalog/address";
import { StateBadge } from "../../catalog/badges";
import { BindToDoor } from "../../catalog/bind-to-door";
import { TryPanel } from "../../catalog/try-panel";
import { ActionErrors, useAction } from "../../form/action";
import { Button, DeleteButton, Header, Loaded, PageTabs, Row, Stack } from "../../kit";
import { useWords } from "../../words";
import { Definition, type Draft } from "./definition";
import { ToolDoors } from "./doors";
import { Versions } from "./versions";

export default function ToolPage() {
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  return <Loaded query={useQuery(toolQuery(id))}>{(tool) => <ToolTabs key={tool.id} tool={tool} />}</Loaded>;
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
        {may("make_tools") && (
          <>
            <BindToDoor tool={tool} />
            <DeleteButton what={tool.name} onDelete={() => gone.run()} />
          </>
        )}
      </Header>
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
  const { data } = useQuery(tables);
  const [draft, setDraft] = useState<Draft>(() => definitionOf(tool) as Draft);
  const [base, setBase] = useState(tool);
  const action = useAction(() => update(tool.id, changesOf(draft, base)), words.done.saved);
  const show = useCallback((next: Tool) => {
    setBase(next);
    setDraft(definitionOf(next) as Draft);
  }, []);
  // Another version came in: shown, unless something has been typed here.
  const isTyped = JSON.stringify(draft) !== JSON.stringify(definitionOf(base));
  useEffect(() => {
    if (tool.version !== base.version && !isTyped) show(tool);
  }, [tool, base, isTyped, show]);
  const save = async () => {
    const saved = await action.run();
    if (saved) show(saved);
  };
  return (
    <Stack>
      <ActionErrors of={action} />
      <Definition
        id={tool.id}
        draft={draft}
        onDraft={setDraft}
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
    </Stack>
  );
}

/** Only what is another value than before; what was taken away is null. */
function changesOf(draft: Draft, tool: Tool): Record<string, unknown> {
  const before = definitionOf(tool);
  const keys = new Set([...Object.keys(before), ...Object.keys(draft)]);
  keys.delete("id");
  const changed = [...keys].filter((key) => JSON.stringify(before[key]) !== JSON.stringify(draft[key]));
  return Object.fromEntries(changed.map((key) => [key, draft[key] ?? null]));
}
