// A key that was just made, shown this once.
import type { ReactNode } from "react";
import { CopyButton, Dialog, Note, Row, Stack, TextField } from "../kit";
import { useWords } from "../words";

type Props = { value: string | null; label?: string; onClose: () => void; children?: ReactNode };

export function KeyDialog({ value, label, onClose, children }: Props) {
  const words = useWords();
  return (
    <Dialog title={label ?? words.doors.key} open={value !== null} onClose={onClose}>
      <Stack>
        <Note tone="warn" title={words.doors.keyOnce} />
        <TextField label={label ?? words.doors.key} readOnly value={value ?? ""} onValue={() => undefined} />
        <Row at="end">
          <CopyButton text={value ?? ""} />
          {children}
        </Row>
      </Stack>
    </Dialog>
  );
}
