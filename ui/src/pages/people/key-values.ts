// A key as its form shows it, and as the server takes it.
import type { Key } from "../../api/types";
import type { Values } from "./add";

const local = (iso: string) => {
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
};

const number = (text: string | undefined) => (text ? Number(text) : null);

type Limits = { calls_per_minute?: number | null; concurrent_calls?: number | null };

export const limitValues = (limits: Limits): Values => ({
  calls_per_minute: limits.calls_per_minute ? String(limits.calls_per_minute) : "",
  concurrent_calls: limits.concurrent_calls ? String(limits.concurrent_calls) : "",
});

export const limitsOf = ({ calls_per_minute, concurrent_calls }: Values) => ({
  calls_per_minute: number(calls_per_minute),
  concurrent_calls: number(concurrent_calls),
});

export const keyValues = ({ name, role, scopes, allow, limits, expires_at }: Key): Values => ({
  name,
  role,
  scopes: scopes.join(" "),
  allow: allow.join(" "),
  ...limitValues(limits),
  expires_at: expires_at ? local(expires_at) : "",
});

export function keyOf(values: Values) {
  const { name, role, scopes = "", allow = "", expires_at } = values;
  return {
    name: name ?? "",
    role,
    scopes: scopes.split(" ").filter(Boolean),
    allow: allow.split(/[\s,]+/).filter(Boolean),
    limits: limitsOf(values),
    expires_at: expires_at ? new Date(expires_at).toISOString() : null,
  };
}
