// What has changed between two texts, line by line.
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { extensions } from "./extensions";

export default function Diff({ label, before, after }: { label: string; before: string; after: string }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!host.current) return;
    const merge = unifiedMergeView({ original: before, mergeControls: false, highlightChanges: true, gutter: true });
    const state = EditorState.create({
      doc: after,
      extensions: [extensions({ label, value: after, language: "json", isReadOnly: true }), merge],
    });
    const view = new EditorView({ state, parent: host.current });
    return () => view.destroy();
  }, [label, before, after]);
  return <div ref={host} className="editor" />;
}
