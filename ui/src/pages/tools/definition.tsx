// What a Tool is, as a form: the same for new ones and known ones.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { catalog } from "../../api/catalog";
import { messageAt, type Problem } from "../../api/error";
import { useMay } from "../../api/session";
import type { Table } from "../../api/types";
import { ProblemsBelow } from "../../form";
import { JsonField } from "../../form/json";
import { Combobox, LinesField, LocalTabs, SelectField, Stack, TextField, useSubmitKey } from "../../kit";
import { stateWord, useWords } from "../../words";
import { HttpTool } from "./http";

export type Draft = Record<string, unknown> & { type: string; name: string };
type Props = {
  draft: Draft;
  onDraft: (draft: Draft) => void;
  problems: Problem[];
  tables: Table[];
  onSubmit: () => void;
  id?: string;
  /** What the server has, with its secrets masked. */
  saved?: Record<string, unknown>;
  /** Makes a new Tool, for testing, and tells its id. */
  onMake?: () => Promise<string | undefined>;
};

const TABLE_TYPES = [
  "get_data_schema",
  "get_all_data",
  "query_data",
  "create",
  "update",
  "delete",
  "preview",
  "select",
  "search",
];

export function Definition(props: Props) {
  const words = useWords();
  const onKeyDown = useSubmitKey(props.onSubmit);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: one key for the whole form
    <div onKeyDown={onKeyDown}>
      <LocalTabs
        label={words.tools.definition}
        tabs={[
          { id: "form", label: words.form.form, body: () => <Seen of={props} /> },
          { id: "json", label: words.form.json, body: () => <AsJson {...props} /> },
        ]}
      />
    </div>
  );
}

/** Whoever may not change it sees it as it is. */
function Seen({ of }: { of: Props }) {
  return (
    <fieldset disabled={!useMay()("make_tools")}>
      <Fields {...of} />
    </fieldset>
  );
}

function AsJson({ draft, onDraft }: Props) {
  const words = useWords();
  return (
    <JsonField
      schema={{}}
      label={words.form.json}
      required={false}
      path={[]}
      value={draft}
      onValue={(next) => next && onDraft(next as Draft)}
    />
  );
}

function Fields(props: Props) {
  const words = useWords();
  const { draft, onDraft, problems } = props;
  const set = (field: string) => (value: string) => onDraft({ ...draft, [field]: value });
  const text = (field: string) => String(draft[field] ?? "");
  const error = (path: string) => messageAt(problems, path);
  const statuses = ["active", "testing", "inactive"].map((value) => ({ value, label: stateWord(words, value) }));
  return (
    <Stack>
      <TextField label={words.field.name} required value={text("name")} error={error("name")} onValue={set("name")} />
      <LinesField
        isLong
        label={words.field.description}
        hint={words.tools.descriptionHint}
        value={text("description")}
        error={error("description")}
        onValue={set("description")}
      />
      {props.id && (
        <SelectField
          label={words.field.status}
          value={text("status") || "active"}
          options={statuses}
          error={error("status")}
          onValue={set("status")}
        />
      )}
      {draft.type === "http" && <HttpTool {...props} />}
      {draft.type === "uri" && <Uri {...props} />}
      {TABLE_TYPES.includes(draft.type) && <OverTable {...props} />}
    </Stack>
  );
}

function Uri({ draft, onDraft, problems }: Props) {
  const words = useWords();
  const { data } = useQuery(catalog);
  const choices = useMemo(
    () => (data?.tools ?? []).map((tool) => ({ value: tool.uri, label: tool.uri, detail: tool.name })),
    [data],
  );
  const error = (path: string) => messageAt(problems, path);
  const json = (field: string, label: string) => (
    <JsonField
      schema={{}}
      label={label}
      required={false}
      path={[field]}
      value={draft[field]}
      onValue={(value) => onDraft({ ...draft, [field]: value })}
    />
  );
  return (
    <Stack>
      <Combobox
        label={words.field.address}
        value={String(draft.uri ?? "")}
        choices={choices}
        error={error("uri")}
        onValue={(uri) => onDraft({ ...draft, uri })}
      />
      <ProblemsBelow problems={problems}>
        {json("arguments", words.tools.presets)}
        {json("hidden", words.tools.hidden)}
        {json("rename", words.tools.rename)}
      </ProblemsBelow>
    </Stack>
  );
}

function OverTable({ draft, onDraft, problems, tables }: Props) {
  const words = useWords();
  const error = (path: string) => messageAt(problems, path);
  const known = tables.map((table) => ({ value: table.id, label: table.name }));
  return (
    <Stack>
      <SelectField
        label={words.field.type}
        value={draft.type}
        options={TABLE_TYPES.map((value) => ({ value, label: words.tables.types[value as "create"] }))}
        error={error("type")}
        onValue={(type) => onDraft({ ...draft, type })}
      />
      <SelectField
        label={words.tables.table}
        value={String(draft.table_id ?? "")}
        options={[{ value: "", label: words.form.choose }, ...known]}
        error={error("table_id")}
        onValue={(table_id) => onDraft({ ...draft, table_id })}
      />
      <TextField
        label={words.tables.path}
        hint={words.tables.pathHint}
        value={String(draft.json_path ?? "")}
        error={error("json_path")}
        onValue={(json_path) => onDraft({ ...draft, json_path })}
      />
    </Stack>
  );
}
