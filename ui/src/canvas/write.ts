// Writes a value into a YAML tree where it differs, and leaves everything else as its author wrote it.
import { type Document, isMap, isNode, isScalar, isSeq, type Pair, type YAMLMap, type YAMLSeq } from "yaml";
import { Numeral } from "../api/json";

const isPlain = (value: unknown) => value === null || typeof value !== "object" || value instanceof Numeral;
const isObject = (value: unknown): value is Record<string, unknown> => !isPlain(value) && !Array.isArray(value);

export function writeAt(document: Document, map: YAMLMap, key: string, next: unknown): void {
  const pair = pairOf(map, key);
  if (!pair) map.set(document.createNode(key), document.createNode(next));
  else pair.value = written(document, pair.value, next);
}

/** Keys are texts to us, whatever YAML makes of them: `1:` and `true:` are keys, too. */
const nameOf = (pair: Pair) => String(isScalar(pair.key) ? pair.key.value : pair.key);
const pairOf = (map: YAMLMap, key: string) => map.items.find((pair) => nameOf(pair) === key);

/** The node that says `next`: the same one, changed as little as possible, or another one. */
function written(document: Document, now: unknown, next: unknown): unknown {
  if (isNode(now) && JSON.stringify(now.toJS(document)) === JSON.stringify(next)) return now;
  if (isMap(now) && isObject(next)) return mergeMap(document, now, next);
  if (isSeq(now) && Array.isArray(next)) return mergeSeq(document, now, next);
  if (isScalar(now) && isPlain(next)) {
    now.value = next;
    // How it was written is how the old value was written.
    now.source = undefined;
    return now;
  }
  return document.createNode(next);
}

function mergeMap(document: Document, map: YAMLMap, next: Record<string, unknown>): YAMLMap {
  map.items = map.items.filter((pair) => nameOf(pair) in next);
  for (const [key, value] of Object.entries(next)) writeAt(document, map, key, value);
  return map;
}

function mergeSeq(document: Document, seq: YAMLSeq, next: unknown[]): YAMLSeq {
  const known = seq.items;
  seq.items = next.map((value, at) =>
    at < known.length ? written(document, known[at], value) : document.createNode(value),
  );
  return seq;
}
