// The parameters of an HTTP tool, one in a row.
import { Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { messageAt, type Problem } from "../../api/error";
import { Button, CheckField, type Column, IconButton, Region, SelectField, Table, TextField } from "../../kit";
import { useWords } from "../../words";
import { ParameterDetails } from "./details";

type Parameter = Record<string, unknown>;
type Props = {
  value: Parameter[];
  onValue: (value: Parameter[]) => void;
  problems: Problem[];
  prefix: string;
  isReadOnly: boolean;
};

export function Parameters({ value, onValue, problems, prefix, isReadOnly }: Props) {
  const words = useWords();
  const rows = value.map((parameter, at) => ({ parameter, at }));
  const error = (at: number, field: string) => messageAt(problems, `${prefix}[${at}].${field}`);
  const [shown, setShown] = useState<number | null>(null);
  const columns = useColumns(value, onValue, error, setShown);
  const add = () => onValue([...value, { name: "", parameter_type: "String", position: "query", required: false }]);
  return (
    <Region
      title={words.http.parameters}
      actions={!isReadOnly && <Button onClick={add}>{words.http.addParameter}</Button>}
    >
      <Table
        label={words.http.parameters}
        columns={isReadOnly ? columns.filter(({ id }) => id !== "more") : columns}
        rows={rows}
        id={({ at }) => String(at)}
      />
      {shown !== null && value[shown] && (
        <ParameterDetails
          value={value[shown]}
          onValue={(next) => onValue(value.with(shown, next))}
          error={(field) => error(shown, field)}
          onClose={() => setShown(null)}
        />
      )}
    </Region>
  );
}

type Line = { parameter: Parameter; at: number };

function useColumns(
  value: Parameter[],
  onValue: (value: Parameter[]) => void,
  error: (at: number, field: string) => string | undefined,
  onDetails: (at: number) => void,
): Column<Line>[] {
  const words = useWords();
  const set = (at: number, field: string) => (next: unknown) =>
    onValue(value.with(at, { ...value[at], [field]: next }));
  const choice = (field: string, label: string, values: object, first: string): Column<Line> => ({
    id: field,
    label,
    cell: ({ parameter, at }) => (
      <SelectField
        hideLabel
        label={label}
        value={String(parameter[field] ?? first)}
        options={Object.entries(values).map(([value, label]) => ({ value, label }))}
        error={error(at, field)}
        onValue={set(at, field)}
      />
    ),
  });
  return [
    {
      id: "name",
      label: words.field.name,
      cell: ({ parameter, at }) => (
        <TextField
          hideLabel
          label={words.field.name}
          value={String(parameter.name ?? "")}
          error={error(at, "name")}
          onValue={set(at, "name")}
        />
      ),
    },
    choice("parameter_type", words.field.type, words.parameterTypes, "String"),
    choice("position", words.http.position, words.positions, "body"),
    {
      id: "required",
      label: words.http.required,
      cell: ({ parameter, at }) => (
        <CheckField
          hideLabel
          label={words.http.required}
          checked={parameter.required === true}
          onChecked={set(at, "required")}
        />
      ),
    },
    {
      id: "more",
      label: words.http.details,
      kind: "nowrap",
      cell: ({ parameter, at }) => (
        <>
          <IconButton
            label={words.http.detailsOf(String(parameter.name ?? ""))}
            icon={<Pencil size={14} />}
            onClick={() => onDetails(at)}
          />
          <IconButton
            label={words.act.remove}
            icon={<Trash2 size={14} />}
            onClick={() => onValue(value.toSpliced(at, 1))}
          />
        </>
      ),
    },
  ];
}
