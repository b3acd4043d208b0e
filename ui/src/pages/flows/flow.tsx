// One flow: its canvas, its YAML, its runs, what it was before.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { flow } from "../../api/flows";
import type { Flow } from "../../api/types";
import { Loaded } from "../../kit";
import { FlowEditor } from "./editor";

const FRESH = "name: New flow\nnodes: {}\n";

export default function FlowPage() {
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  return id === "new" ? <FlowEditor key="new" flow={null} source={FRESH} /> : <KnownFlow key={id} id={id} />;
}

function KnownFlow({ id }: { id: string }) {
  const query = useQuery(flow(id));
  return <Loaded query={query}>{(data: Flow) => <FlowEditor flow={data} source={data.source ?? FRESH} />}</Loaded>;
}
