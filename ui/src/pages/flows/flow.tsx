// One flow: its canvas, its YAML, its runs, what it was before. Those who only call see what a tool shows, and call it.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { flow } from "../../api/flows";
import type { Flow } from "../../api/types";
import { TryPanel } from "../../catalog/try-panel";
import { Header, LoadedPage, Muted, Stack } from "../../kit";
import { FlowEditor } from "./editor";

/** Without a name it is called by its id. */
const FRESH = "nodes: {}\n";

export default function FlowPage() {
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  return id === "new" ? <FlowEditor key="new" flow={null} source={FRESH} /> : <KnownFlow key={id} id={id} />;
}

function KnownFlow({ id }: { id: string }) {
  const query = useQuery(flow(id));
  return (
    <LoadedPage title={id} query={query}>
      {(data: Flow) =>
        typeof data.source === "string" ? <FlowEditor flow={data} source={data.source} /> : <Call of={data} />
      }
    </LoadedPage>
  );
}

function Call({ of }: { of: Flow }) {
  return (
    <Stack>
      <Header title={of.name} />
      {of.description && <Muted>{of.description}</Muted>}
      <TryPanel entry={{ name: of.id, uri: `flow://${of.id}`, kind: "flow" }} />
    </Stack>
  );
}
