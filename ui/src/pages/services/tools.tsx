// What a service offers.
import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { serviceTools, serviceTypes } from "../../api/services";
import { useMay } from "../../api/session";
import type { Service, ServiceTool } from "../../api/types";
import { serviceAddress } from "../../catalog/address";
import { type Column, Link, LinkButton, List, Loaded, Row, Stack, Summary } from "../../kit";
import { useWords } from "../../words";

const text = (tool: ServiceTool) => `${tool.id} ${tool.name ?? ""} ${tool.description ?? ""}`;
const id = (tool: ServiceTool) => tool.id;

export function ServiceTools({ of }: { of: Service }) {
  const words = useWords();
  const may = useMay();
  const all = useQuery(serviceTools(of.type, of.id));
  const types = useQuery(serviceTypes);
  const hasOwn = types.data?.find((type) => type.type === of.type)?.has_user_tools;
  const at = `${serviceAddress(of.type, of.id)}/tools`;
  const columns: Column<ServiceTool>[] = [
    { id: "name", label: words.field.name, cell: (tool) => <Link to={`${at}/${tool.id}`}>{tool.id}</Link> },
    { id: "summary", label: words.field.summary, cell: (tool) => <Summary>{tool.description}</Summary> },
    { id: "uri", label: words.field.address, cell: (tool) => <code>{tool.uri}</code> },
    {
      id: "try",
      label: words.act.tryIt,
      cell: (tool) => (
        <LinkButton to="/ui/try" search={{ uri: tool.uri }}>
          {words.act.tryIt}
        </LinkButton>
      ),
    },
  ];
  return (
    <Stack>
      {hasOwn && of.source === "store" && may("make_services") && (
        <Row at="end">
          <LinkButton to={`${at}/new`} icon={<Plus size={16} aria-hidden />}>
            {words.things.tools.add}
          </LinkButton>
        </Row>
      )}
      <Loaded query={all}>
        {(rows) => <List things={words.things.tools} rows={rows} columns={columns} id={id} text={text} />}
      </Loaded>
    </Stack>
  );
}
