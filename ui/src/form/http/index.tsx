// The editor of an HTTP tool: the request on the left, what becomes of its answer on the right, as one types.
import { messageAt, type Problem } from "../../api/error";
import { Editor } from "../../editor";
import { FieldError, Region, SelectField, Split, Stack, TextField } from "../../kit";
import { useWords } from "../../words";
import { useKept } from "../kept";
import { Parameters } from "./parameters";
import { Rendered } from "./rendered";
import { FetchSample, type Sampled } from "./sample";

export type HttpValue = Record<string, unknown>;
type Props = {
  value: HttpValue;
  onValue: (value: HttpValue) => void;
  problems: Problem[];
  prefix: string;
  sample: Sampled;
  /** Under which the sample answer is kept. */
  sampleKey: string;
  isReadOnly?: boolean;
};

const FIRST_SAMPLE = '{\n  "status": "ok"\n}';
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"].map((value) => ({ value, label: value }));

export function HttpEditor({ value, onValue, problems, prefix, sample, sampleKey, isReadOnly = false }: Props) {
  const words = useWords();
  // A sample may be private, so it is kept in memory alone; it can be fetched again.
  const [answer, setAnswer] = useKept({
    place: ["samples", sampleKey],
    begin: () => FIRST_SAMPLE,
    isEdited: (text) => text !== FIRST_SAMPLE,
    asks: () => false,
  });
  const set = (field: string) => (next: unknown) => onValue({ ...value, [field]: next });
  const error = (field: string) => messageAt(problems, join(prefix, field));
  const template = String(value.response_template ?? "");
  return (
    <Stack>
      <Split>
        <TextField
          label={words.http.endpoint}
          required
          value={String(value.endpoint ?? "")}
          error={error("endpoint")}
          hint={words.http.endpointHint}
          onValue={set("endpoint")}
        />
        <SelectField
          label={words.http.method}
          value={String(value.method ?? "GET")}
          options={METHODS}
          error={error("method")}
          onValue={set("method")}
        />
      </Split>
      {/* A row needs more room than half of a page has. */}
      <Parameters
        value={(value.parameters ?? []) as HttpValue[]}
        onValue={set("parameters")}
        problems={problems}
        prefix={join(prefix, "parameters")}
        isReadOnly={isReadOnly}
      />
      <Split>
        <Region title={words.http.template}>
          <Editor
            label={words.http.template}
            language="text"
            value={template}
            isReadOnly={isReadOnly}
            onValue={set("response_template")}
            error={error("response_template")}
          />
          {error("response_template") && <FieldError>{error("response_template") ?? ""}</FieldError>}
        </Region>
        <Stack>
          <Region
            title={words.http.sample}
            actions={!isReadOnly && <FetchSample of={sample} value={value} onSample={setAnswer} />}
          >
            <Editor label={words.http.sample} language="json" value={answer} onValue={setAnswer} />
          </Region>
          <Rendered template={template} sample={answer} />
        </Stack>
      </Split>
    </Stack>
  );
}

const join = (prefix: string, field: string) => (prefix ? `${prefix}.${field}` : field);
