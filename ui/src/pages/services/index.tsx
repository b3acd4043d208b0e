// Services: everything that is configured, with its health.
import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { catalog } from "../../api/catalog";
import { useMay } from "../../api/session";
import type { CatalogService } from "../../api/types";
import { serviceAddress } from "../../catalog/address";
import { healthOf, StateBadge } from "../../catalog/badges";
import { type Column, Header, Link, LinkButton, List, Loaded, Muted, Stack } from "../../kit";
import { useWords, wordOf } from "../../words";
import { useFormat } from "../../words/format";

const text = (service: CatalogService) => `${service.name} ${service.id} ${service.type}`;
const id = (service: CatalogService) => `${service.type} ${service.id}`;

export default function Services() {
  const words = useWords();
  const format = useFormat();
  const may = useMay();
  const all = useQuery(catalog);
  const columns: Column<CatalogService>[] = [
    {
      id: "name",
      label: words.field.name,
      cell: (service) => (
        <>
          <Link to={serviceAddress(service.type, service.id)}>{service.name}</Link>{" "}
          {service.name !== service.id && <Muted small>{service.id}</Muted>}
        </>
      ),
    },
    { id: "type", label: words.field.type, cell: (service) => wordOf(words.kinds, service.type) },
    { id: "health", label: words.field.health, cell: (service) => <StateBadge state={healthOf(service.health)} /> },
    { id: "tools", label: words.field.tools, kind: "number", cell: (service) => format.number(service.tools) },
    { id: "source", label: words.field.source, cell: (service) => words.services.source(service.source) },
  ];
  const add = may("make_services") && (
    <LinkButton look="primary" to="/ui/services/new" icon={<Plus size={16} aria-hidden />}>
      {words.things.services.add}
    </LinkButton>
  );
  return (
    <Stack>
      <Header title={words.nav.services}>{add}</Header>
      <Loaded query={all}>
        {({ services }) => (
          <List
            things={words.things.services}
            rows={services}
            columns={columns}
            id={id}
            text={text}
            empty={words.services.empty}
          />
        )}
      </Loaded>
    </Stack>
  );
}
