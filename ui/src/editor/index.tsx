// The editor for JSON, YAML and templates. Its code comes when the first one is shown.
import { Suspense } from "react";
import { Row, Skeleton, Stack } from "../kit";
import { lazily } from "../kit/lazily";

export type Mark = { line: number; column?: number | null; message: string; severity?: "error" | "warning" };
export type EditorProps = {
  label: string;
  value: string;
  onValue?: (text: string) => void;
  language?: "json" | "yaml" | "text";
  marks?: Mark[];
  /** A line to go to, whenever it is another object. */
  shown?: { line: number };
  isReadOnly?: boolean;
  isTall?: boolean;
  /** What is wrong with the whole of it; shown by the parent, said here. */
  error?: string;
  /** Whether the editor has its own undo; the parent may have one for more than this text. */
  hasHistory?: boolean;
};

export const loadEditor = () => import("./codemirror");
const LazyEditor = lazily(loadEditor);
const LazyDiff = lazily(() => import("./diff"));

export function Editor(props: EditorProps) {
  return (
    <Suspense fallback={<Skeleton lines={3} />}>
      <LazyEditor {...props} />
    </Suspense>
  );
}

type DiffProps = { label: string; before: string; after: string; onlyBefore: string; onlyAfter: string };

export function Diff({ onlyBefore, onlyAfter, ...of }: DiffProps) {
  return (
    <Stack gap="tight">
      <Row>
        <del className="diff-mark">− {onlyBefore}</del>
        <ins className="diff-mark">+ {onlyAfter}</ins>
      </Row>
      <Suspense fallback={<Skeleton lines={3} />}>
        <LazyDiff {...of} />
      </Suspense>
    </Stack>
  );
}
