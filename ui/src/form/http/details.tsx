// What there is to say of one parameter besides its row: what it means, and what it is unless given.
import { Button, Dialog, LinesField, Row, Stack } from "../../kit";
import { useWords } from "../../words";
import { JsonEditor } from "../json";
import { useIsWhole } from "../whole";

type Parameter = Record<string, unknown>;
type Props = {
  value: Parameter;
  onValue: (value: Parameter) => void;
  error: (field: string) => string | undefined;
  onClose: () => void;
};

export function ParameterDetails({ value, onValue, error, onClose }: Props) {
  const words = useWords();
  const set = (field: string, next: unknown) => {
    const { [field]: _old, ...rest } = value;
    onValue(next === undefined || next === "" ? rest : { ...rest, [field]: next });
  };
  const isWhole = useIsWhole();
  const done = () => void (isWhole() && onClose());
  const isText = (value.parameter_type ?? "String") === "String";
  return (
    <Dialog title={words.http.detailsOf(String(value.name ?? ""))} open onClose={onClose} onSubmit={done}>
      <Stack>
        <LinesField
          isLong
          label={words.field.description}
          hint={words.http.meaning}
          value={String(value.description ?? "")}
          error={error("description")}
          onValue={(text) => set("description", text)}
        />
        {isText ? (
          <LinesField
            label={words.http.fallback}
            hint={words.http.fallbackHint}
            value={String(value.default_value ?? "")}
            error={error("default_value")}
            onValue={(text) => set("default_value", text)}
          />
        ) : (
          <JsonEditor
            label={words.http.fallback}
            value={value.default_value}
            error={error("default_value")}
            onValue={(next) => set("default_value", next)}
          />
        )}
        <Row at="end">
          <Button look="primary" onClick={done}>
            {words.act.done}
          </Button>
        </Row>
      </Stack>
    </Dialog>
  );
}
