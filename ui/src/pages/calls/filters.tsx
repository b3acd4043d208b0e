// What calls are looked for by; all of it stands in the address.
import { useEffect, useState } from "react";
import type { CallFilter } from "../../api/calls";
import { useMay } from "../../api/session";
import { SelectField, TextField, Tiles } from "../../kit";
import { stateWord, useWords } from "../../words";

type Props = { filter: CallFilter; onFilter: (changes: CallFilter) => void };
const SETTLE_MS = 300;

export function Filters({ filter, onFilter }: Props) {
  const words = useWords();
  const may = useMay();
  const statuses = ["ok", "error", "refused"].map((value) => ({ value, label: stateWord(words, value) }));
  const text = (field: keyof CallFilter, label: string) => (
    <TextFilter label={label} value={filter[field] ?? ""} onValue={(value) => onFilter({ [field]: value })} />
  );
  const time = (field: "from" | "to", label: string) => (
    <TextField
      label={label}
      type="datetime-local"
      value={toLocal(filter[field])}
      onValue={(value) => onFilter({ [field]: value ? new Date(value).toISOString() : "" })}
    />
  );
  const kinds = Object.entries(words.audit.kinds).map(([value, label]) => ({ value, label }));
  return (
    <Tiles>
      {may("manage") && (
        <SelectField
          label={words.audit.kind}
          value={filter.kind ?? "call"}
          options={kinds}
          onValue={(kind) => onFilter({ kind: kind === "call" ? "" : kind })}
        />
      )}
      {text("tool", words.calls.tool)}
      {text("service", words.field.service)}
      {text("caller", words.calls.caller)}
      {text("door", words.calls.door)}
      <SelectField
        label={words.field.status}
        value={filter.status ?? ""}
        options={[{ value: "", label: words.tools.all }, ...statuses]}
        onValue={(status) => onFilter({ status })}
      />
      {text("code", words.calls.code)}
      {time("from", words.calls.from)}
      {time("to", words.calls.to)}
      {text("request_id", words.calls.requestId)}
    </Tiles>
  );
}

/** Asked for once nothing has been typed for a moment. */
function TextFilter({ label, value, onValue }: { label: string; value: string; onValue: (value: string) => void }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed starts the wait
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => onValue(typed), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return <TextField type="search" label={label} value={typed} onValue={setTyped} />;
}

function toLocal(iso: string | undefined): string {
  if (!iso) return "";
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
