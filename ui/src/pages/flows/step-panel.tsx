// The panel of a step: which tool, with which arguments, and what comes next.
import { useQuery } from "@tanstack/react-query";
import { catalog, inputSchema } from "../../api/catalog";
import type { Step } from "../../canvas/source";
import { SchemaForm } from "../../form";
import { JsonEditor } from "../../form/json";
import { kindOf, resolve, type Schema } from "../../form/schema";
import { Button, Card, Mono, Region, SelectField, Stack } from "../../kit";
import { useWords } from "../../words";
import type { FlowDraft } from "./use-draft";

export function StepPanel({ step, draft }: { step: Step; draft: FlowDraft }) {
  const words = useWords();
  const { data } = useQuery(catalog);
  const bare = step.uri.replace(/\?.*/, "");
  const entry = data?.tools.find((tool) => tool.uri === bare);
  const others = draft.graph.steps.filter((other) => other.id !== step.id);
  const next = draft.graph.edges.filter((edge) => edge.from === step.id && edge.kind === "next").map((edge) => edge.to);
  const options = [
    { value: "", label: words.flows.nothing },
    ...others.map((other) => ({ value: other.id, label: other.id })),
  ];
  return (
    <Card>
      <Region title={step.id}>
        <Stack>
          {step.uri && <Mono>{step.uri}</Mono>}
          <SelectField
            label={words.flows.next}
            value={next[0] ?? ""}
            options={options}
            onValue={(to) => draft.setKey(step.id, "next", to || undefined)}
          />
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

type Props = { step: Step; draft: FlowDraft; entry: Parameters<typeof inputSchema>[0] };

function Arguments({ step, draft, entry }: Props) {
  const words = useWords();
  const { data } = useQuery(inputSchema(entry));
  const args = (step.args && typeof step.args === "object" ? step.args : {}) as Record<string, unknown>;
  const set = (value: unknown) => {
    const isEmpty = !value || Object.keys(value).length === 0;
    draft.setKey(step.id, "args", isEmpty ? undefined : value);
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

/** In a flow any argument may be an expression, so numbers and choices are typed as texts. */
function textsToo(schema: Schema): Schema {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  const eased = properties.map(([key, value]) => {
    const isPlain = ["integer", "number", "boolean"].includes(String(value.type)) || Array.isArray(value.enum);
    const { enum: _enum, ...rest } = value;
    return [key, isPlain ? { ...rest, type: "number" } : value];
  });
  return { ...schema, properties: Object.fromEntries(eased) };
}
