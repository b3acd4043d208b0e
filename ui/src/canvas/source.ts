// A flow's YAML as a syntax tree: what it draws, and edits that leave comments and order alone.
import {
  type Document,
  type DocumentOptions,
  isMap,
  isScalar,
  isSeq,
  type ParseOptions,
  parseDocument,
  type SchemaOptions,
  type YAMLMap,
} from "yaml";
import type { Mark } from "../editor";
import { schemaOf } from "./inputs";
import { numbers } from "./numbers";
import { tried } from "./tried";
import { writeAt } from "./write";

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
/** `inputs` is the schema of what a run is given, where it is given something. */
export type Graph = { steps: Step[]; edges: Edge[]; inputs: Record<string, unknown> | null };
/** `partial` is what can be drawn of a text that cannot be read to its end. */
export type Parsed = { graph: Graph | null; partial?: Graph | null; marks: Mark[] };

const OPTIONS: DocumentOptions & ParseOptions & SchemaOptions = {
  // Keys are texts to us, and nothing to be warned of.
  logLevel: "error",
  customTags: (tags) => [numbers, ...tags],
};

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
  const document = parseDocument(text, { ...OPTIONS, prettyErrors: true });
  if (document.errors.length > 0) {
    const marks = document.errors.map((error) => ({
      line: error.linePos?.[0].line ?? 1,
      message: error.message.split("\n")[0] ?? "",
    }));
    return { graph: null, partial: tried(() => graphOf(document)), marks };
  }
  return { graph: graphOf(document), marks: [] };
}

/** Of the flow itself, which may stand below a word of its own. */
function partOf(document: Document, name: "nodes" | "inputs"): YAMLMap | null {
  const top = document.get("flow");
  const part = isMap(top) && top.has("nodes") ? top.get(name) : document.get(name);
  return isMap(part) ? part : null;
}

const nodesOf = (document: Document) => partOf(document, "nodes");

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
  const inputs = partOf(document, "inputs");
  return { steps, edges, inputs: inputs ? schemaOf(inputs.toJS(document)) : null };
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
  const document = parseDocument(text, OPTIONS);
  if (document.errors.length > 0) return text;
  let nodes = nodesOf(document);
  if (!nodes) {
    document.set("nodes", document.createNode({}));
    nodes = nodesOf(document);
  }
  if (nodes) change(document, nodes);
  // Braces are written as the author wrote them.
  const isPadded = !/\{\S/.test(text) || /\{ /.test(text);
  const written = document.toString({ lineWidth: 0, flowCollectionPadding: isPadded });
  return text.includes("\r\n") ? written.replace(/\r?\n/g, "\r\n") : written;
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

const KINDS_OF_EDGES = ["next", "then", "else", "fail"] as const;

/** Takes a step away, with every edge that led to it. */
export function removeStep(text: string, id: string): string {
  return edit(text, (document, nodes) => {
    nodes.delete(id);
    for (const { value } of nodes.items) {
      if (!isMap(value)) continue;
      for (const kind of KINDS_OF_EDGES) unlink(document, value, kind, id);
      unlinkCases(document, value, id);
    }
  });
}

/** Takes one edge away; the steps at its ends stay. */
export function disconnect(text: string, { from, to, kind }: Edge): string {
  return edit(text, (document, nodes) => {
    const node = nodes.get(from);
    if (!isMap(node)) return;
    if (kind === "case") unlinkCases(document, node, to);
    else unlink(document, node, kind, to);
  });
}

/** A branch without a target says nothing; the last one takes `case` with it. */
function unlinkCases(document: Document, node: YAMLMap, id: string): void {
  const branches = node.get("case");
  if (!isSeq(branches)) return;
  for (let at = branches.items.length - 1; at >= 0; at--) {
    const branch = branches.items[at];
    if (!isMap(branch) || !list(plain(document, branch.get("then"))).includes(id)) continue;
    unlink(document, branch, "then", id);
    if (!branch.has("then")) branches.delete(at);
  }
  if (branches.items.length === 0) node.delete("case");
}

const plain = (document: Document, value: unknown): unknown => (isSeq(value) ? value.toJS(document) : value);

function unlink(document: Document, node: YAMLMap, kind: string, id: string): void {
  const now = list(plain(document, node.get(kind)));
  if (!now.includes(id)) return;
  setTargets(
    document,
    node,
    kind,
    now.filter((to) => to !== id),
  );
}

/** Where edges of a kind lead to, as its author writes them: one name, a list, or names with commas. */
function setTargets(document: Document, node: YAMLMap, kind: string, targets: string[]): void {
  const now = node.get(kind);
  const [only] = targets;
  if (only === undefined) node.delete(kind);
  else if (isSeq(now)) {
    for (let at = now.items.length - 1; at >= 0; at--) {
      if (!targets.includes(String(now.get(at)))) now.delete(at);
    }
    // Those that stay keep their places and their comments.
    for (const [at, target] of targets.entries()) if (now.get(at) !== target) now.set(at, target);
  } else if (targets.length === 1) writeAt(document, node, kind, only);
  else if (typeof now === "string" && now.includes(",")) writeAt(document, node, kind, targets.join(", "));
  else node.set(kind, document.createNode(targets));
}

/** What comes next, at one of its places; `undefined` takes that away, a place behind the last adds one. */
export function setNext(text: string, from: string, at: number, to: string | undefined): string {
  if (from === to) return text;
  return edit(text, (document, nodes) => {
    const node = nodes.get(from);
    if (!isMap(node)) return;
    const now = list(plain(document, node.get("next")));
    if (to !== undefined && now.includes(to)) return;
    const known = node.get("next");
    if (isSeq(known) && to !== undefined) known.set(at, to);
    else setTargets(document, node, "next", to === undefined ? now.toSpliced(at, 1) : now.toSpliced(at, 1, to));
  });
}

/** Sets the arguments of a step: only what is another value is written, so that comments between the others stay. */
export function setArgs(text: string, id: string, args: unknown): string {
  return edit(text, (document, nodes) => {
    const node = nodes.get(id);
    if (!isMap(node)) return;
    if (args === undefined) node.delete("args");
    else writeAt(document, node, "args", args);
  });
}

/** Draws an edge: one more step that comes next. */
export function connect(text: string, from: string, to: string): string {
  const graph = parse(text).graph;
  if (!graph?.steps.some((one) => one.id === from)) return text;
  return setNext(text, from, graph.edges.filter((edge) => edge.from === from && edge.kind === "next").length, to);
}
