// A flow as text, and what is wrong with it, each with the way to its line.
import { useState } from "react";
import { Editor } from "../../editor";
import { FieldError, Note, Stack } from "../../kit";
import css from "../../kit/control.module.css";
import { useWords } from "../../words";
import type { FlowDraft } from "./use-draft";

export function FlowYaml({ draft, canEdit }: { draft: FlowDraft; canEdit: boolean }) {
  const words = useWords();
  const [shown, setShown] = useState<{ line: number } | undefined>();
  const errors = draft.marks.filter(({ severity }) => severity !== "warning");
  return (
    <Stack gap="tight">
      <Editor
        label={words.flows.yaml}
        language="yaml"
        value={draft.text}
        onValue={draft.type}
        marks={draft.marks}
        shown={shown}
        error={errors[0]?.message}
        isReadOnly={!canEdit}
        isTall
        hasHistory={false}
      />
      {draft.marks.length > 0 && (
        <Note tone={errors.length > 0 ? "fail" : "warn"} title={words.state.problems(draft.marks.length)} live="status">
          <ul aria-label={words.flows.problems}>
            {draft.marks.map(({ line, message }) => (
              <li key={`${line} ${message}`}>
                <button type="button" className={css.problem} onClick={() => setShown({ line })}>
                  <FieldError>{words.flows.problemAt(line, message)}</FieldError>
                </button>
              </li>
            ))}
          </ul>
        </Note>
      )}
    </Stack>
  );
}
