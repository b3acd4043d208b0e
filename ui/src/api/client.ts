// The one client of the REST interface: typed by its document, signed in by a cookie, and with one way to fail.
import createClient from "openapi-fetch";
import { base } from "./base";
import { ApiError, fromResponse } from "./error";
import type { paths } from "./schema";

let tenant = "";
let onSignedOut: () => void = () => {};
let onTenant: () => void = () => {};

/** The tenant that an admin looks at; empty for one's own. */
export function setTenant(id: string): void {
  if (id === tenant) return;
  tenant = id;
  onTenant();
}

export const currentTenant = (): string => tenant;

/** Streams belong to the tenant that they were opened for. */
export function whenTenantChanges(then: () => void): void {
  onTenant = then;
}

/** Adds the tenant that is looked at; for streams and downloads, which the client does not ask for. */
export function address(path: string, query: Record<string, string | undefined> = {}): string {
  const all = { ...query, tenant_id: tenant || undefined };
  const given = Object.entries(all).filter((entry): entry is [string, string] => !!entry[1]);
  return base + (given.length ? `${path}?${new URLSearchParams(given)}` : path);
}

export function whenSignedOut(then: () => void): void {
  onSignedOut = then;
}

export const client = createClient<paths>({ baseUrl: base, credentials: "same-origin" });

client.use({
  onRequest({ request }) {
    if (!tenant) return request;
    const url = new URL(request.url);
    url.searchParams.set("tenant_id", tenant);
    return new Request(url, request);
  },
});

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** The answer's data, or an `ApiError`. Whoever is signed out meanwhile is asked to sign in again. */
export async function ask<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer.catch(unreached);
  if (response.ok) return data as T;
  if (response.status === 401 && !response.url.includes("/auth/session")) onSignedOut();
  throw fromResponse(response, error);
}

/** Whoever stopped waiting knows why nothing came; everybody else is told that nobody answers. */
export function unreached(cause: unknown): never {
  if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
  throw new ApiError("NETWORK", 0, "NETWORK");
}

/** A body that is a file, or an answer that is none of ours to read. */
export async function send(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(path, { credentials: "same-origin", ...init }).catch(unreached);
  if (response.ok) return response;
  if (response.status === 401) onSignedOut();
  throw fromResponse(response, await response.json().catch(() => null));
}
