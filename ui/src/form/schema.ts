// Reads a JSON Schema as a form: which control each value gets, under which words, in which order.

import { Numeral, numberOf } from "../api/json";
import type { Language } from "../words";
import { getAt, type Path, parsePath } from "./path";

export type Schema = Record<string, unknown>;
/** A mark of schemas whose values may also be expressions: they are typed, whatever they are. */
export const TYPED = "x-typed";
export type Kind = "text" | "typed" | "secret" | "choice" | "number" | "flag" | "object" | "map" | "list" | "json";

type Hints = {
  group?: string;
  order?: number;
  advanced?: boolean;
  alias?: unknown;
  when?: Record<string, unknown[]>;
  multiline?: boolean;
  zh?: { title?: string; description?: string };
};
export type FormField = {
  key: string;
  schema: Schema;
  label: string;
  hint?: string;
  required: boolean;
  advanced: boolean;
  group: string;
};

const NESTING = 8;

/** The schema itself: references followed, what `allOf` adds laid over it, null left out. */
export function resolve(schema: unknown, root: Schema, depth = 0): Schema {
  if (!isSchema(schema) || depth > NESTING) return {};
  const { $ref, allOf, anyOf, oneOf, ...own } = schema;
  let whole: Schema = own;
  if (typeof $ref === "string")
    whole = { ...resolve(getAt(root, parsePath($ref.replace(/^#/, ""))), root, depth + 1), ...own };
  for (const part of Array.isArray(allOf) ? allOf : []) whole = { ...resolve(part, root, depth + 1), ...whole };
  const variants = [anyOf, oneOf].find(Array.isArray);
  return variants ? { ...ofVariants(variants, root, depth), ...whole } : whole;
}

function ofVariants(variants: unknown[], root: Schema, depth: number): Schema {
  const all = variants.map((variant) => resolve(variant, root, depth + 1));
  const some = all.filter((variant) => variant.type !== "null");
  if (some.length === 1) return some[0] ?? {};
  const values = some.map((variant) => ("const" in variant ? [variant.const] : variant.enum));
  if (values.every(Array.isArray)) return { enum: values.flat() };
  return { variants: some };
}

export function isSchema(value: unknown): value is Schema {
  return !!value && typeof value === "object" && !Array.isArray(value) && !(value instanceof Numeral);
}

function typesOf(schema: Schema): string[] {
  const types = Array.isArray(schema.type) ? schema.type : schema.type ? [schema.type] : [];
  return (types as string[]).filter((type) => type !== "null");
}

export function choicesOf(schema: Schema): unknown[] | null {
  if ("const" in schema) return [schema.const];
  if (!Array.isArray(schema.enum)) return null;
  return schema.enum.filter((value) => value !== null);
}

/** The control that a (resolved) schema is drawn with; `json` is the editor for what no control fits. */
export function kindOf(schema: Schema, root: Schema, depth = 0): Kind {
  if (schema[TYPED]) return "typed";
  if (schema.variants || depth > NESTING) return "json";
  if (schema.writeOnly && typesOf(schema)[0] === "string") return "secret";
  const choices = choicesOf(schema);
  if (choices)
    return choices.every((choice) => typeof choice !== "object" || choice instanceof Numeral) ? "choice" : "json";
  const types = typesOf(schema);
  if (types.length > 1) return types.every((type) => type === "number" || type === "integer") ? "number" : "json";
  switch (types[0] ?? (schema.properties ? "object" : "")) {
    case "string":
      return "text";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "flag";
    case "object":
      return objectKind(schema, root, depth);
    case "array":
      return isSchema(schema.items) && kindOf(resolve(schema.items, root), root, depth + 1) !== "json"
        ? "list"
        : "json";
    default:
      return "json";
  }
}

/** What was typed, as a value that the schema names; everything else is an expression, and stays a text. */
export function typedAs(schema: Schema, text: string): unknown {
  const isWord = text === "true" || text === "false";
  const value = isWord ? text === "true" : numberOf(text);
  const choices = choicesOf(schema);
  if (choices) return choices.find((choice) => String(choice) === text) ?? text;
  const type = isWord ? "boolean" : "number";
  const types = typesOf(schema).map((one) => (one === "integer" ? "number" : one));
  return value !== undefined && types.includes(type) ? value : text;
}

function objectKind(schema: Schema, root: Schema, depth: number): Kind {
  if (isSchema(schema.properties) && Object.keys(schema.properties).length > 0) return "object";
  if (!isSchema(schema.additionalProperties)) return "json";
  const inner = kindOf(resolve(schema.additionalProperties, root), root, depth + 1);
  return inner === "text" || inner === "number" || inner === "secret" ? "map" : "json";
}

/** What an object's form shows, given the values that are there. */
export function fieldsOf(
  schema: Schema,
  root: Schema,
  value: unknown,
  whole: unknown,
  language: Language,
  /** What is said of the object beside it, as `auth_type` says the type of `auth_config`. */
  beside: Schema = {},
): FormField[] {
  const required = Array.isArray(schema.required) ? (schema.required as string[]) : [];
  const properties = isSchema(schema.properties) ? Object.entries(schema.properties) : [];
  const all = properties.map(([key, raw], at) => {
    const own = resolve(raw, root);
    const hints = (isSchema(own["x-ui"]) ? own["x-ui"] : {}) as Hints;
    return { key, own, hints, at, isRequired: required.includes(key) };
  });
  const shown = all.filter(({ key, hints }) => {
    const isGiven = getAt(value, [key]) !== undefined && getAt(value, [key]) !== null;
    return isGiven || (!hints.alias && isWanted(hints.when, { ...beside, ...(isSchema(value) ? value : {}) }, whole));
  });
  shown.sort((a, b) => (a.hints.order ?? 1000 + a.at) - (b.hints.order ?? 1000 + b.at));
  return shown.map(({ key, own, hints, isRequired }) => ({
    key,
    schema: own,
    required: isRequired,
    advanced: !!hints.advanced && !isRequired,
    group: hints.group ?? "general",
    ...wordsOf(key, own, hints, language),
  }));
}

/** Fields of one group stand together, where the first of them stands; what belongs to none comes first. */
export function groupsOf(fields: FormField[]): { group: string; fields: FormField[] }[] {
  const groups = new Map<string, FormField[]>();
  for (const field of fields) groups.set(field.group, [...(groups.get(field.group) ?? []), field]);
  const all = [...groups].map(([group, fields]) => ({ group, fields }));
  return [...all.filter(({ group }) => group === "general"), ...all.filter(({ group }) => group !== "general")];
}

function isWanted(when: Hints["when"], value: unknown, whole: unknown): boolean {
  return Object.entries(when ?? {}).every(([field, allowed]) => {
    const given = getAt(value, parsePath(field)) ?? getAt(whole, parsePath(field));
    return allowed.includes(given ?? null);
  });
}

function wordsOf(key: string, schema: Schema, hints: Hints, language: Language): { label: string; hint?: string } {
  const zh = language === "zh-CN" ? hints.zh : undefined;
  const title = zh?.title ?? (schema.title as string | undefined) ?? humanise(key);
  const hint = zh?.description ?? (schema.description as string | undefined);
  return { label: title, hint: hint?.replaceAll("`", "") };
}

/** What is called so is told in sentences, which have lines. */
const LONG = new Set(["instructions", "prompt", "description", "message", "body", "text", "content"]);

/** Whether a text is one of several lines, as a rule. */
export function isLong(schema: Schema, path: Path): boolean {
  const hints = (isSchema(schema["x-ui"]) ? schema["x-ui"] : {}) as Hints;
  return hints.multiline ?? LONG.has(String(path.at(-1)));
}

const CAPITALS = new Set(["url", "id", "api", "http", "json", "sql", "tls", "ttl", "uri", "ip", "ca"]);

/** `base_url` is read as "Base URL". */
export function humanise(key: string): string {
  const parts = key
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .split(/[_\s-]+/)
    .filter(Boolean);
  const written = parts.map((part) => (CAPITALS.has(part.toLowerCase()) ? part.toUpperCase() : part.toLowerCase()));
  const text = written.join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1) || key;
}

/** A first value for a new item of a list. */
export function emptyOf(schema: Schema, root: Schema): unknown {
  const kind = kindOf(schema, root);
  if (kind === "object" || kind === "map") return {};
  if (kind === "list") return [];
  if (kind === "choice") return choicesOf(schema)?.[0];
  return kind === "flag" ? false : kind === "number" ? 0 : kind === "json" ? null : "";
}
