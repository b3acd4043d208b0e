// The panel of a step: which tool, with which arguments, and what comes next.
import { useQuery } from "@tanstack/react-query";
import { catalog, inputSchema, withoutOptions } from "../../api/catalog";
import { useMay } from "../../api/session";
import type { Step } from "../../canvas/source";
import { SchemaForm } from "../../form";
import { JsonEditor } from "../../form/json";
import { kindOf, resolve, type Schema, TYPED } from "../../form/schema";
import { Button, Card, Mono, Region, Row, SelectField, Stack } from "../../kit";
import { useWords } from "../../words";
import type { FlowDraft } from "./use-draft";

export function StepPanel({ step, draft }: { step: Step; draft: FlowDraft }) {
  const words = useWords();
  const { data } = useQuery(catalog);
  const entry = data?.tools.find((tool) => tool.uri === withoutOptions(step.uri));
  return (
    <Card>
      <Region title={step.id}>
        <Stack>
          {step.uri && <Mono>{step.uri}</Mono>}
          <Next step={step} draft={draft} />
          <Branches step={step} draft={draft} />
          {step.kind === "tool" && <Arguments step={step} draft={draft} entry={entry} />}
          <div>
            <Button look="danger" onClick={() => draft.removeStep(step.id)}>
              {words.flows.removeStep}
            </Button>
          </div>
        </Stack>
      </Region>
    </Card>
  );
}

type OfStep = { step: Step; draft: FlowDraft };

/** What comes next: each in a field of its own, and one more for another one. */
function Next({ step, draft }: OfStep) {
  const words = useWords();
  const next = draft.graph.edges.filter((edge) => edge.from === step.id && edge.kind === "next").map((edge) => edge.to);
  const free = draft.graph.steps.map(({ id }) => id).filter((id) => id !== step.id && !next.includes(id));
  const nothing = { value: "", label: words.flows.nothing };
  const asOptions = (ids: string[]) => ids.map((id) => ({ value: id, label: id }));
  const places = next.length > 0 && free.length > 0 ? [...next, ""] : next.length > 0 ? next : [""];
  return places.map((to, at) => (
    <SelectField
      // biome-ignore lint/suspicious/noArrayIndexKey: a place is known by its number alone
      key={at}
      label={to === "" && at > 0 ? words.flows.alsoNext : words.flows.nextAt(at + 1)}
      value={to}
      options={[nothing, ...asOptions(to ? [to, ...free] : free)]}
      onValue={(chosen) => draft.setNext(step.id, at, chosen || undefined)}
    />
  ));
}

/** Edges that a condition, a switch or a failure takes: they are drawn in the YAML, and can be taken away here. */
function Branches({ step, draft }: OfStep) {
  const words = useWords();
  const edges = draft.graph.edges.filter((edge) => edge.from === step.id && edge.kind !== "next");
  const once = edges.filter(
    (edge, at) => edges.findIndex((one) => one.kind === edge.kind && one.to === edge.to) === at,
  );
  if (once.length === 0) return null;
  return (
    <ul aria-label={words.flows.branches}>
      {once.map((edge) => (
        <li key={`${edge.kind} ${edge.to}`}>
          <Row at="between">
            <span>
              <Mono>{words.flows.edges[`on_${edge.kind}`]}</Mono> → {edge.to}
            </span>
            <Button
              aria-label={words.flows.removeEdge(words.flows.edges[`on_${edge.kind}`], edge.to)}
              onClick={() => draft.disconnect(edge)}
            >
              {words.act.remove}
            </Button>
          </Row>
        </li>
      ))}
    </ul>
  );
}

type Props = { step: Step; draft: FlowDraft; entry: Parameters<typeof inputSchema>[0] };

function Arguments({ step, draft, entry }: Props) {
  const words = useWords();
  const { data } = useQuery(inputSchema(entry, useMay()));
  const args = (step.args && typeof step.args === "object" ? step.args : {}) as Record<string, unknown>;
  const set = (value: unknown) => {
    const isEmpty = !value || Object.keys(value).length === 0;
    draft.setArgs(step.id, isEmpty ? undefined : value);
  };
  const schema = textsToo((data ?? {}) as Schema);
  const canDraw = data && typeof step.args !== "string" && kindOf(resolve(schema, schema), schema) === "object";
  return (
    <Region title={words.trying.args}>
      {canDraw ? (
        <SchemaForm schema={schema} value={args} onValue={set} />
      ) : (
        <JsonEditor label={words.trying.args} value={step.args ?? {}} onValue={set} />
      )}
    </Region>
  );
}

/** In a flow any argument may be an expression, so what has another control elsewhere is typed here. */
function textsToo(schema: Schema): Schema {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  const eased = properties.map(([key, value]) => {
    const kind = kindOf(resolve(value, schema), schema);
    return [key, ["number", "flag", "choice"].includes(kind) ? { ...value, [TYPED]: true } : value];
  });
  return { ...schema, properties: Object.fromEntries(eased) };
}
