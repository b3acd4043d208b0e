// Secrets in a form's values, as its schema marks them.
import { useEffect } from "react";
import { isSchema, resolve, type Schema } from "./schema";

/** What the server shows instead of a secret, and takes for "as it was". */
export const MASK = "***";
const SIGNED_OUT = "signed-out";
const NESTING = 8;

const isSecret = (schema: Schema) => schema.writeOnly === true || schema.format === "password";

/** A value whose secrets are those of `saved`: masked where the server has one, and not there where it has none. */
export function withoutSecrets<T>(value: T, schema: Schema, saved?: unknown): T {
  return strip(value, saved, schema, schema, 0) as T;
}

function strip(value: unknown, saved: unknown, raw: unknown, root: Schema, depth: number): unknown {
  const schema = resolve(raw, root);
  if (isSecret(schema)) return saved;
  if (depth > NESTING) return value;
  const variants = Array.isArray(schema.variants) ? schema.variants : [];
  const whole = variants.reduce((left: unknown, one) => strip(left, saved, one, root, depth + 1), value);
  if (Array.isArray(whole)) {
    const before = Array.isArray(saved) ? saved : [];
    // An item is known by its place; one that is taken away there would be a hole.
    return whole.map((item, at) => strip(item, before[at], schema.items, root, depth + 1) ?? "");
  }
  if (!isSchema(whole)) return whole;
  const before = isSchema(saved) ? saved : {};
  const properties = isSchema(schema.properties) ? schema.properties : {};
  const entries = Object.entries(whole).map(([key, inner]) => {
    const own = properties[key] ?? schema.additionalProperties;
    return [key, isSchema(own) ? strip(inner, before[key], own, root, depth + 1) : inner] as const;
  });
  return Object.fromEntries(entries.filter(([, inner]) => inner !== undefined));
}

export const tellSignedOut = () => window.dispatchEvent(new Event(SIGNED_OUT));

/** Whoever signs in next may be somebody else: what is secret is taken out of the page. */
export function useSignedOut(forget: () => void): void {
  useEffect(() => {
    window.addEventListener(SIGNED_OUT, forget);
    return () => window.removeEventListener(SIGNED_OUT, forget);
  });
}
