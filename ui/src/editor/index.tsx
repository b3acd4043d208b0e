// The editor for JSON, YAML and templates. Its code comes when the first one is shown.
import { Suspense } from "react";
import { Skeleton } from "../kit";
import { lazily } from "../kit/lazily";

export type Mark = { line: number; column?: number | null; message: string; severity?: "error" | "warning" };
export type EditorProps = {
  label: string;
  value: string;
  onValue?: (text: string) => void;
  language?: "json" | "yaml" | "text";
  marks?: Mark[];
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

export function Diff(props: { label: string; before: string; after: string }) {
  return (
    <Suspense fallback={<Skeleton lines={3} />}>
      <LazyDiff {...props} />
    </Suspense>
  );
}
