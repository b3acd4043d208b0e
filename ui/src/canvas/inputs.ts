// The inputs of a flow as a form can draw them: `int`, `Line[]`, `string? = "x"`, or JSON Schema as it is.
import { Numeral } from "../api/json";

type Schema = Record<string, unknown>;

const TYPES: Record<string, string> = {
  string: "string",
  text: "string",
  char: "string",
  date: "string",
  datetime: "string",
  time: "string",
  int: "integer",
  integer: "integer",
  long: "integer",
  short: "integer",
  number: "number",
  double: "number",
  float: "number",
  decimal: "number",
  bool: "boolean",
  boolean: "boolean",
};

const isMap = (value: unknown): value is Schema =>
  !!value && typeof value === "object" && !Array.isArray(value) && !(value instanceof Numeral);

/** What the server takes; types of the document's own, and whatever is none, are given as JSON. */
export function schemaOf(inputs: unknown): Schema {
  const entries = Object.entries(isMap(inputs) ? inputs : {});
  const isNeeded = ([, type]: [string, unknown]) =>
    typeof type === "string" ? !/[?]\s*$|=/.test(type) : !isMap(type) || type.default === undefined;
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, type]) => [name, { title: name, ...typeOf(type) }])),
    required: entries.filter(isNeeded).map(([name]) => name),
  };
}

function typeOf(type: unknown): Schema {
  if (typeof type === "string") return ofWord(type.split("=")[0]?.trim().replace(/[?]$/, "") ?? "");
  if (Array.isArray(type)) return { type: "array", items: typeOf(type[0]) };
  if (!isMap(type)) return {};
  if (type.secret === true) return { ...type, type: "string", writeOnly: true };
  const isSchema = typeof type.type === "string" || "enum" in type || "$ref" in type || "oneOf" in type;
  return isSchema ? { ...type, ...(TYPES[String(type.type)] && { type: TYPES[String(type.type)] }) } : schemaOf(type);
}

function ofWord(word: string): Schema {
  if (word.endsWith("[]")) return { type: "array", items: ofWord(word.slice(0, -2)) };
  return TYPES[word] ? { type: TYPES[word] } : {};
}
