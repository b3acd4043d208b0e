// Tools: everything that can be called, whoever it belongs to.
import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useMemo } from "react";
import { catalog } from "../../api/catalog";
import { useMay } from "../../api/session";
import type { Catalog, CatalogTool } from "../../api/types";
import { toolAddress } from "../../catalog/address";
import { StateBadge } from "../../catalog/badges";
import {
  type Column,
  Header,
  Link,
  LinkButton,
  List,
  Loaded,
  Row,
  SelectField,
  Stack,
  Summary,
  useAddress,
} from "../../kit";
import { stateWord, useWords, wordOf } from "../../words";

type Filter = "kind" | "service" | "status";
const text = (tool: CatalogTool) => `${tool.name} ${tool.service ?? ""} ${tool.summary ?? ""}`;
const id = (tool: CatalogTool) => `${tool.uri} ${tool.name} ${tool.status}`;

export default function Tools() {
  const words = useWords();
  const may = useMay();
  const all = useQuery(catalog);
  const [filter, setFilter] = useAddress<Filter>();
  const columns: Column<CatalogTool>[] = [
    {
      id: "name",
      label: words.field.name,
      cell: (tool) => <Link {...toolAddress(tool)}>{tool.name}</Link>,
    },
    { id: "summary", label: words.field.summary, cell: (tool) => <Summary>{tool.summary}</Summary> },
    { id: "kind", label: words.field.kind, kind: "nowrap", cell: (tool) => wordOf(words.kinds, tool.kind) },
    { id: "service", label: words.field.service, cell: (tool) => tool.service },
    { id: "status", label: words.field.status, cell: (tool) => <StateBadge state={tool.status} /> },
    {
      id: "try",
      label: words.act.tryIt,
      kind: "nowrap",
      cell: (tool) => (
        <Link to="/ui/try" search={{ uri: tool.uri }} aria-label={words.tools.tryOne(tool.name)}>
          {words.act.tryIt}
        </Link>
      ),
    },
  ];
  const add = may("make_tools") && (
    <LinkButton look="primary" to="/ui/tools/new" icon={<Plus size={16} aria-hidden />}>
      {words.things.tools.add}
    </LinkButton>
  );
  return (
    <Stack>
      <Header title={words.nav.tools}>{add}</Header>
      <Loaded query={all}>
        {(data) => <Filtered data={data} filter={filter} onFilter={setFilter} columns={columns} />}
      </Loaded>
    </Stack>
  );
}

type Props = {
  data: Catalog;
  filter: Partial<Record<Filter, string>>;
  onFilter: (changes: Partial<Record<Filter, string>>) => void;
  columns: Column<CatalogTool>[];
};

function Filtered({ data, filter, onFilter, columns }: Props) {
  const words = useWords();
  const { kind, service, status } = filter;
  const rows = useMemo(
    () =>
      data.tools.filter(
        (tool) =>
          (!kind || tool.kind === kind) &&
          (!service || tool.service === service) &&
          (!status || tool.status === status),
      ),
    [data, kind, service, status],
  );
  const options = (field: Filter) => {
    const values = [...new Set(data.tools.map((tool) => tool[field] ?? ""))].filter(Boolean).sort();
    return [{ value: "", label: words.tools.all }, ...values.map((value) => ({ value, label: said(field, value) }))];
  };
  const said = (field: Filter, value: string) =>
    field === "kind" ? wordOf(words.kinds, value) : field === "status" ? stateWord(words, value) : value;
  const select = (field: Filter) => (
    <SelectField
      label={words.field[field]}
      value={filter[field] ?? ""}
      options={options(field)}
      onValue={(value) => onFilter({ [field]: value })}
    />
  );
  return (
    <Stack>
      {data.tools.length > 0 && (
        <Row>
          {select("kind")}
          {select("service")}
          {select("status")}
        </Row>
      )}
      <List
        things={words.things.tools}
        rows={rows}
        columns={columns}
        id={id}
        text={text}
        empty={words.tools.empty}
        isFiltered={rows.length < data.tools.length}
      />
    </Stack>
  );
}
