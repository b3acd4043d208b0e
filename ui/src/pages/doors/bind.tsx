// "Bind tools": any number of any tools.
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { catalog } from "../../api/catalog";
import { bind } from "../../api/doors";
import type { BoundTool, CatalogTool, Door } from "../../api/types";
import { ActionErrors, useAction } from "../../form/action";
import {
  Button,
  CheckField,
  type Column,
  Dialog,
  Loaded,
  Muted,
  Row,
  Stack,
  Summary,
  Table,
  TextField,
} from "../../kit";
import { useWords, wordOf } from "../../words";

type Props = { of: Door; bound: BoundTool[]; open: boolean; onClose: () => void };

export function BindDialog({ of, bound, open, onClose }: Props) {
  const words = useWords();
  const all = useQuery({ ...catalog, enabled: open });
  const [chosen, setChosen] = useState<CatalogTool[]>([]);
  const action = useAction(async () => {
    await bind(of.id, chosen);
    return true;
  }, words.done.saved);
  const save = async () => {
    // What was refused is said here, and what was chosen stays chosen.
    if (!(await action.run())) return;
    setChosen([]);
    onClose();
  };
  const free = useMemo(() => {
    const taken = new Set(bound.map((tool) => tool.tool_id));
    return all.data?.tools.filter((tool) => !tool.id || !taken.has(tool.id)) ?? [];
  }, [all.data, bound]);
  return (
    <Dialog title={words.doors.bindTools} open={open} onClose={onClose} wide>
      <Loaded query={all}>{() => <Chooser tools={free} chosen={chosen} onChosen={setChosen} />}</Loaded>
      <ActionErrors of={action} />
      <Row at="end">
        <Muted>{words.doors.chosen(chosen.length)}</Muted>
        <Button look="primary" disabled={action.isBusy || chosen.length === 0} onClick={save}>
          {words.doors.bind}
        </Button>
      </Row>
    </Dialog>
  );
}

type ChooserProps = { tools: CatalogTool[]; chosen: CatalogTool[]; onChosen: (chosen: CatalogTool[]) => void };

function Chooser({ tools, chosen, onChosen }: ChooserProps) {
  const words = useWords();
  const [filter, setFilter] = useState("");
  const shown = useMemo(() => {
    const wanted = filter.toLowerCase();
    return tools.filter((tool) => `${tool.name} ${tool.summary ?? ""}`.toLowerCase().includes(wanted));
  }, [tools, filter]);
  const set = (tool: CatalogTool, isIn: boolean) =>
    onChosen(isIn ? [...chosen, tool] : chosen.filter((one) => one.uri !== tool.uri));
  const columns: Column<CatalogTool>[] = [
    {
      id: "name",
      label: words.field.name,
      cell: (tool) => (
        <CheckField
          label={tool.name}
          checked={chosen.some((one) => one.uri === tool.uri)}
          onChecked={(isIn) => set(tool, isIn)}
        />
      ),
    },
    { id: "kind", label: words.field.kind, kind: "nowrap", cell: (tool) => wordOf(words.kinds, tool.kind) },
    { id: "summary", label: words.field.summary, cell: (tool) => <Summary>{tool.summary}</Summary> },
  ];
  return (
    <Stack>
      <TextField type="search" label={words.things.tools.filter} value={filter} onValue={setFilter} />
      <Table label={words.nav.tools} columns={columns} rows={shown} id={(tool) => `${tool.uri} ${tool.name}`} />
    </Stack>
  );
}
