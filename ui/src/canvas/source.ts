// A flow's YAML as a syntax tree: what it draws, and edits that leave comments and order alone.
import { type Document, isMap, isScalar, isSeq, parseDocument, type YAMLMap } from "yaml";
import type { Mark } from "../editor";

export type StepKind =
  | "tool"
  | "mapping"
  | "condition"
  | "switch"
  | "wait"
  | "each"
  | "loop"
  | "block"
  | "flow"
  | "agent"
  | "handoff"
  | "approval"
  | "guard"
  | "end";
export type Step = { id: string; kind: StepKind; uri: string; next: string[]; args: unknown };
export type Edge = { from: string; to: string; kind: "next" | "then" | "else" | "fail" | "case" };
export type Graph = { steps: Step[]; edges: Edge[]; hasInputs: boolean };
export type Parsed = { graph: Graph | null; marks: Mark[] };

const KINDS: [string, StepKind][] = [
  ["exec", "tool"],
  ["each", "each"],
  ["approval", "approval"],
  ["wait", "wait"],
  ["case", "switch"],
  ["guard", "guard"],
  ["agent", "agent"],
  ["handoff", "handoff"],
  ["flow", "flow"],
  ["return", "end"],
  ["throw", "end"],
];

/** What the text draws, or the lines on which it is no YAML. */
export function parse(text: string): Parsed {
  const document = parseDocument(text, { prettyErrors: true });
  if (document.errors.length > 0) {
    const marks = document.errors.map((error) => ({
      line: error.linePos?.[0].line ?? 1,
      message: error.message.split("\n")[0] ?? "",
    }));
    return { graph: null, marks };
  }
  return { graph: graphOf(document), marks: [] };
}

function nodesOf(document: Document): YAMLMap | null {
  const top = document.get("flow");
  const nodes = isMap(top) && top.has("nodes") ? top.get("nodes") : document.get("nodes");
  return isMap(nodes) ? nodes : null;
}

function graphOf(document: Document): Graph {
  const nodes = nodesOf(document);
  const steps: Step[] = [];
  const edges: Edge[] = [];
  for (const { key, value } of nodes?.items ?? []) {
    const id = String(isScalar(key) ? key.value : key);
    const node = isMap(value) ? (value.toJS(document) as Record<string, unknown>) : {};
    const own = edgesOf(id, node);
    edges.push(...own);
    steps.push({
      id,
      kind: kindOf(node),
      uri: String(node.exec ?? ""),
      next: own.map((edge) => edge.to),
      args: node.args,
    });
  }
  return { steps, edges, hasInputs: isMap(document.get("inputs")) };
}

function kindOf(node: Record<string, unknown>): StepKind {
  const found = KINDS.find(([key]) => key in node);
  if (found) return found[1];
  if ("when" in node) return "nodes" in node ? "loop" : "condition";
  return "nodes" in node ? "block" : "mapping";
}

const list = (value: unknown): string[] =>
  Array.isArray(value) ? value.map(String) : typeof value === "string" ? value.split(/\s*,\s*/).filter(Boolean) : [];

function edgesOf(from: string, node: Record<string, unknown>): Edge[] {
  const edges: Edge[] = [];
  for (const kind of ["next", "then", "else", "fail"] as const) {
    for (const to of list(node[kind])) edges.push({ from, to, kind });
  }
  for (const branch of Array.isArray(node.case) ? node.case : []) {
    for (const to of list((branch as Record<string, unknown>)?.then)) edges.push({ from, to, kind: "case" });
  }
  return edges;
}

/** Applies an edit to the tree and writes it back; what was not touched keeps its comments and its order. */
function edit(text: string, change: (document: Document, nodes: YAMLMap) => void): string {
  const document = parseDocument(text);
  if (document.errors.length > 0) return text;
  let nodes = nodesOf(document);
  if (!nodes) {
    document.set("nodes", document.createNode({}));
    nodes = nodesOf(document);
  }
  if (nodes) change(document, nodes);
  // Braces are written as the author wrote them.
  const isPadded = !/\{\S/.test(text) || /\{ /.test(text);
  return document.toString({ lineWidth: 0, flowCollectionPadding: isPadded });
}

export function addStep(text: string, uri: string): { text: string; id: string } {
  const taken = new Set(parse(text).graph?.steps.map((step) => step.id));
  const base = (uri.replace(/\?.*/, "").split("/").pop() || "step").replace(/\W+/g, "_").replace(/^(\d)/, "_$1");
  const name = base === "call" ? (uri.split("/")[2] ?? "step").replace(/\W+/g, "_") : base;
  let id = name;
  for (let n = 2; taken.has(id); n++) id = `${name}_${n}`;
  const next = edit(text, (document, nodes) => {
    nodes.flow = false;
    nodes.set(document.createNode(id), document.createNode({ exec: uri }));
  });
  return { text: next, id };
}

export function removeStep(text: string, id: string): string {
  return edit(text, (_, nodes) => {
    nodes.delete(id);
    for (const { key, value } of nodes.items) {
      if (!isMap(value)) continue;
      for (const kind of ["next", "then", "else", "fail"]) unlink(value, kind, id, String(key));
    }
  });
}

function unlink(node: YAMLMap, kind: string, id: string, _from: string): void {
  const value = node.get(kind);
  if (value === id) node.delete(kind);
  else if (isSeq(value)) {
    const rest = (value.toJSON() as string[]).filter((to) => to !== id);
    if (rest.length > 0) node.set(kind, rest.length === 1 ? rest[0] : rest);
    else node.delete(kind);
  }
}

/** Sets one key of a step; `undefined` takes it away. */
export function setKey(text: string, id: string, key: string, value: unknown): string {
  return edit(text, (document, nodes) => {
    const node = nodes.get(id);
    if (!isMap(node)) return;
    if (value === undefined) node.delete(key);
    else node.set(key, document.createNode(value));
  });
}

/** Draws an edge: one more step that comes next. */
export function connect(text: string, from: string, to: string): string {
  const step = parse(text).graph?.steps.find((one) => one.id === from);
  const now =
    parse(text)
      .graph?.edges.filter((edge) => edge.from === from && edge.kind === "next")
      .map((edge) => edge.to) ?? [];
  if (!step || from === to || now.includes(to)) return text;
  const next = [...now, to];
  return setKey(text, from, "next", next.length === 1 ? next[0] : next);
}
