// What a probe found: how fast the service answers, or why it does not.
import { Note } from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";

export type Probed = { ok: boolean; duration_ms: number; error?: { code?: string; message: string } | null };

export function ProbeNote({ of }: { of: Probed | null | undefined }) {
  const words = useWords();
  const format = useFormat();
  if (!of) return null;
  if (of.ok) return <Note tone="ok" live="status" title={words.services.reachable(format.number(of.duration_ms))} />;
  return (
    <Note title={of.error?.message ?? words.state.failed} live="alert">
      <code>{of.error?.code}</code>
    </Note>
  );
}
