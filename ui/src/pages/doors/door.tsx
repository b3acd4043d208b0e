// One door: what stands behind it, and how a client comes in.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { rememberKey } from "../../api/door-keys";
import { bindings, door, remove, rotate, setBinding, unbind, update } from "../../api/doors";
import { ApiError } from "../../api/error";
import { useMay } from "../../api/session";
import type { BoundTool, Door } from "../../api/types";
import { StateBadge } from "../../catalog/badges";
import { KeyDialog } from "../../catalog/key-dialog";
import { ActionErrors, useAction } from "../../form/action";
import { ConflictDialog } from "../../form/conflict";
import {
  Button,
  type Column,
  DeleteButton,
  Empty,
  Header,
  Link,
  Loaded,
  LoadedPage,
  Muted,
  Row,
  SelectField,
  Stack,
  SwitchField,
  Table,
  Text,
  useAddress,
} from "../../kit";
import { useWords, wordOf } from "../../words";
import { BindDialog } from "./bind";
import { ConnectDialog } from "./connect";
import { EditDoor } from "./edit";

export default function DoorPage() {
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  const words = useWords();
  return (
    <LoadedPage title={words.nav.doors} query={useQuery(door(id))}>
      {(data) => <OneDoor key={data.id} of={data} />}
    </LoadedPage>
  );
}

function OneDoor({ of }: { of: Door }) {
  const words = useWords();
  const may = useMay();
  const [{ connect }, setAddress] = useAddress<"connect">();
  const [isBinding, setBinding] = useState(false);
  const query = useQuery(bindings(of.id));
  const on = query.data?.filter((binding) => binding.binding_status).length ?? 0;
  return (
    <Stack>
      <Header title={of.name} badge={<StateBadge state={of.status} />}>
        {may("make_instances") && <DoorActions of={of} onBind={() => setBinding(true)} />}
        <Button look="primary" onClick={() => setAddress({ connect: "1" })}>
          {words.doors.connect}
        </Button>
      </Header>
      <Loaded query={query}>
        {(rows) => (
          <Stack>
            {of.description && <Text>{of.description}</Text>}
            <Muted>{words.doors.on(on, rows.length)}</Muted>
            <ToolSearch of={of} />
            <Bindings of={of} rows={rows} />
          </Stack>
        )}
      </Loaded>
      <BindDialog of={of} bound={query.data ?? []} open={isBinding} onClose={() => setBinding(false)} />
      <ConnectDialog of={of} open={!!connect} onClose={() => setAddress({ connect: undefined })} />
    </Stack>
  );
}

function DoorActions({ of, onBind }: { of: Door; onBind: () => void }) {
  const words = useWords();
  const navigate = useNavigate();
  const [key, setKey] = useState<string | null>(null);
  const turn = useAction(() => rotate(of.id), words.done.saved);
  const enable = useAction(
    (isOn: boolean) => update(of.id, { status: isOn ? "active" : "disabled", version: of.version }),
    words.done.saved,
  );
  const gone = useAction(async () => {
    await remove(of.id);
    navigate({ to: "/ui/doors" });
  }, words.done.deleted);
  const newKey = async () => {
    const made = await turn.run();
    if (!made) return;
    rememberKey(of.id, made.api_key);
    setKey(made.api_key);
  };
  return (
    <>
      <ActionErrors of={turn} />
      <ActionErrors of={enable} />
      <ActionErrors of={gone} />
      <SwitchField
        label={words.field.enabled}
        checked={of.status === "active"}
        disabled={enable.isBusy}
        onChecked={(isOn) => enable.run(isOn)}
      />
      <Button onClick={onBind}>{words.doors.bindTools}</Button>
      <EditDoor of={of} />
      <DeleteButton
        what={of.name}
        label={words.doors.rotate}
        question={`${words.doors.rotate}: ${of.name}`}
        detail={words.ask.rotate}
        onDelete={newKey}
      />
      <DeleteButton what={of.name} onDelete={() => gone.run()} />
      <KeyDialog value={key} onClose={() => setKey(null)} />
    </>
  );
}

const modeOf = (of: Door) => (of as Door & { tool_search?: { mode?: string } }).tool_search?.mode ?? "off";

function ToolSearch({ of }: { of: Door }) {
  const words = useWords();
  const may = useMay();
  const mode = modeOf(of);
  const queries = useQueryClient();
  const [theirs, setTheirs] = useState<{ mine: string; door: Door } | null>(null);
  const action = useAction(async (next: string, version: number) => {
    try {
      await update(of.id, { tool_search: { mode: next }, version });
    } catch (error) {
      const isStale = error instanceof ApiError && error.isConflict;
      if (isStale) setTheirs({ mine: next, door: await queries.fetchQuery({ ...door(of.id), staleTime: 0 }) });
      throw error;
    }
  }, words.done.saved);
  const options = (["off", "on", "auto"] as const).map((value) => ({ value, label: words.doors.modes[value] }));
  return (
    <Stack gap="tight">
      <Row>
        <SelectField
          label={words.doors.toolSearch}
          hint={words.doors.toolSearchHint}
          value={mode}
          options={options}
          disabled={!may("make_instances") || action.isBusy}
          onValue={(value) => action.run(value, of.version)}
        />
      </Row>
      <ActionErrors of={action} />
      <ConflictDialog
        mine={theirs?.mine ?? ""}
        theirs={theirs && modeOf(theirs.door)}
        onTheirs={() => {
          setTheirs(null);
          action.clear();
        }}
        onMine={() => {
          if (theirs) void action.run(theirs.mine, theirs.door.version);
          setTheirs(null);
        }}
        onClose={() => setTheirs(null)}
      />
    </Stack>
  );
}

function Bindings({ of, rows }: { of: Door; rows: BoundTool[] }) {
  const words = useWords();
  const may = useMay();
  const flip = useAction((tool: string, isOn: boolean) => setBinding(of.id, tool, isOn), words.done.saved);
  const out = useAction((tool: string) => unbind(of.id, tool), words.done.deleted);
  const canEdit = may("make_instances");
  const columns: Column<BoundTool>[] = [
    {
      id: "on",
      label: words.doors.offered,
      cell: (tool) => (
        <SwitchField
          hideLabel
          label={tool.name}
          checked={tool.binding_status}
          disabled={!canEdit || flip.isBusy}
          onChecked={(isOn) => flip.run(tool.tool_id, isOn)}
        />
      ),
    },
    { id: "name", label: words.field.name, cell: (tool) => <Link to={`/ui/tools/${tool.tool_id}`}>{tool.name}</Link> },
    { id: "type", label: words.field.type, kind: "nowrap", cell: (tool) => wordOf(words.kinds, tool.type) },
    { id: "status", label: words.field.status, cell: (tool) => <StateBadge state={tool.tool_status} /> },
    {
      id: "out",
      label: words.act.remove,
      cell: (tool) => (
        <Button aria-label={words.doors.unbind(tool.name)} onClick={() => out.run(tool.tool_id)}>
          {words.act.remove}
        </Button>
      ),
    },
  ];
  const shown = canEdit ? columns : columns.filter(({ id }) => id !== "out");
  if (rows.length === 0) return <Empty title={words.doors.nothingBound} />;
  return (
    <Stack>
      <ActionErrors of={flip} />
      <ActionErrors of={out} />
      <Table label={words.doors.bindings} columns={shown} rows={rows} id={(tool) => tool.tool_id} />
    </Stack>
  );
}
