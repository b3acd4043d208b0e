// CodeMirror in React's hands: the text is the parent's, the rest is the editor's.
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "react";
import type { EditorProps, Mark } from ".";
import { extensions } from "./extensions";

export default function CodeMirror(props: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  // biome-ignore lint/correctness/useExhaustiveDependencies: made once per language and label; the rest follows below
  useEffect(() => {
    if (!host.current) return;
    const change = EditorView.updateListener.of((update) => {
      const text = update.state.doc.toString();
      if (update.docChanged && text !== latest.current.value) latest.current.onValue?.(text);
    });
    const state = EditorState.create({
      doc: latest.current.value,
      extensions: [extensions(latest.current), change, problem.of(said(latest.current.error))],
    });
    view.current = new EditorView({ state, parent: host.current });
    return () => view.current?.destroy();
  }, [props.language, props.label, props.isReadOnly]);
  useEffect(() => replace(view.current, props.value), [props.value]);
  useEffect(() => mark(view.current, props.marks ?? []), [props.marks]);
  useEffect(() => {
    view.current?.dispatch({ effects: problem.reconfigure(said(props.error)) });
  }, [props.error]);
  useEffect(() => show(view.current, props.shown?.line), [props.shown]);
  return <div ref={host} className={props.isTall ? "editor tall" : "editor"} />;
}

/** Puts the cursor there. */
function show(view: EditorView | null, line: number | undefined): void {
  if (!view || line === undefined) return;
  const { from } = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
  view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  view.focus();
}

const problem = new Compartment();

/** `aria-description`, as the message stands elsewhere in the page. */
function said(error: string | undefined) {
  return EditorView.contentAttributes.of(error ? { "aria-invalid": "true", "aria-description": error } : {});
}

/** Puts another text in, without moving the cursor more than needed. */
function replace(view: EditorView | null, text: string): void {
  const now = view?.state.doc.toString();
  if (!view || now === text || now === undefined) return;
  view.dispatch({ changes: { from: 0, to: now.length, insert: text } });
}

function mark(view: EditorView | null, marks: Mark[]): void {
  if (!view) return;
  const { doc } = view.state;
  const found = marks.map(({ line, message, severity = "error" }): Diagnostic => {
    const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
    return { from: at.from, to: at.to, message, severity };
  });
  view.dispatch(setDiagnostics(view.state, found));
}
