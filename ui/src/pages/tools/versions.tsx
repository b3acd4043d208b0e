// What a Tool was before: what has changed since, and a way back.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { writeJson } from "../../api/json";
import { useMay } from "../../api/session";
import { definitionOf, rollBack, toolVersions } from "../../api/tools";
import type { Tool, ToolVersion } from "../../api/types";
import { useNames } from "../../catalog/names";
import { Diff } from "../../editor";
import { ActionErrors, useAction } from "../../form/action";
import { Button, type Column, Loaded, Region, Stack, Table } from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";

const write = (version: Record<string, unknown>) => {
  // A Tool stays of its type, and its versions do not say it.
  const { at: _at, changed_by: _by, id: _id, status: _status, type: _type, ...rest } = definitionOf(version);
  return writeJson(rest, 2, Object.keys(flat(rest)).sort());
};

/** All keys at any depth, so that both sides are written in one order. */
function flat(value: unknown, into: Record<string, true> = {}): Record<string, true> {
  if (value && typeof value === "object") {
    for (const [key, inner] of Object.entries(value)) {
      into[key] = true;
      flat(inner, into);
    }
  }
  return into;
}

export function Versions({ tool }: { tool: Tool }) {
  const words = useWords();
  const format = useFormat();
  const may = useMay();
  const nameOf = useNames();
  const all = useQuery(toolVersions(tool.id));
  const [shown, setShown] = useState<ToolVersion | null>(null);
  const back = useAction((version: number) => rollBack(tool.id, version), words.done.saved);
  const columns: Column<ToolVersion>[] = [
    { id: "version", label: words.field.version, cell: (version) => version.version },
    { id: "at", label: words.field.at, cell: (version) => format.time(version.at) },
    { id: "by", label: words.field.by, cell: (version) => nameOf(version.changed_by) },
    {
      id: "diff",
      label: words.tools.compare,
      cell: (version) =>
        version.version !== tool.version && <Button onClick={() => setShown(version)}>{words.tools.compare}</Button>,
    },
    {
      id: "back",
      label: words.act.rollBack,
      cell: (version) =>
        version.version !== tool.version &&
        may("make_tools") && <Button onClick={() => back.run(version.version)}>{words.act.rollBack}</Button>,
    },
  ];
  return (
    <Stack>
      <ActionErrors of={back} />
      <Loaded query={all}>
        {(rows) => (
          <Table label={words.tools.versions} columns={columns} rows={rows} id={(row) => String(row.version)} />
        )}
      </Loaded>
      {shown && (
        <Region title={words.tools.difference(shown.version, tool.version)}>
          <Diff
            label={words.tools.compare}
            before={write(shown)}
            after={write(tool)}
            onlyBefore={words.tools.only(shown.version)}
            onlyAfter={words.tools.only(tool.version)}
          />
        </Region>
      )}
    </Stack>
  );
}
