// What our editors can do: undo, colours, marks. Tab leaves the field, as everywhere.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { yaml } from "@codemirror/lang-yaml";
import { indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { getNonce } from "get-nonce";
import type { EditorProps } from ".";

const languages = { json, yaml, text: () => [] };

export function extensions({
  label,
  language = "text",
  isReadOnly = false,
  hasHistory = true,
}: EditorProps): Extension[] {
  return [
    EditorView.cspNonce.of(getNonce() ?? ""),
    hasHistory ? [history(), keymap.of(historyKeymap)] : [],
    keymap.of(defaultKeymap.filter(({ key }) => key !== "Mod-Enter")),
    languages[language](),
    language === "text" ? [] : [lineNumbers(), lintGutter()],
    indentOnInput(),
    syntaxHighlighting(classHighlighter),
    EditorView.lineWrapping,
    EditorState.readOnly.of(isReadOnly),
    EditorView.contentAttributes.of({ "aria-label": label, ...(isReadOnly && { "aria-readonly": "true" }) }),
  ];
}
