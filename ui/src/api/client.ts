// The one client of the REST interface: typed by its document, signed in by a cookie, and with one way to fail.
import createClient from "openapi-fetch";
import { base } from "./base";
import { untilDeadline } from "./deadline";
import { ApiError, fromResponse } from "./error";
import { readJson, writeJson } from "./json";
import type { paths } from "./schema";

/** Every request says whom its page was drawn for: another tab may have signed in as somebody else meanwhile. */
const CONSOLE = "X-Console";
/** For whoever asks who is signed in. */
const ANYBODY = "-";
const KEPT = "tenant";

/** Why a page cannot go on: nobody is signed in, or somebody else is. */
export type Gone = "out" | "other";

let drawnFor = ANYBODY;
let tenant = "";
let onSignedOut: (why: Gone) => void = () => {};
/** How often somebody has come in. */
let entries = 0;
let onTenant: () => void = () => {};

/** From here on the page is theirs; an admin finds the tenant that this tab looked at before it was loaded anew. */
export function drawFor(who: { tenant: string; id: string }): void {
  const next = `${encodeURIComponent(who.tenant)}/${encodeURIComponent(who.id)}`;
  if (next === drawnFor) return;
  drawnFor = next;
  const kept = globalThis.sessionStorage?.getItem(KEPT)?.split(" ") ?? [];
  setTenant(kept[0] === drawnFor ? (kept[1] ?? "") : "");
}

/** The tenant that an admin looks at; empty for one's own. */
export function setTenant(id: string): void {
  if (id === tenant) return;
  tenant = id;
  globalThis.sessionStorage?.setItem(KEPT, `${drawnFor} ${id}`);
  onTenant();
}

/** Tabs with the same name show the same to the same person. */
export const nameOfView = (): string => `${base} ${drawnFor} ${tenant}`;

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

/** Answers that are still on their way to whoever was here before say nothing about whoever is here now. */
export function comeIn(): void {
  entries += 1;
}

export function whenSignedOut(then: (why: Gone) => void): void {
  onSignedOut = then;
}

const requests = createClient<paths>({
  baseUrl: base,
  credentials: "same-origin",
  bodySerializer: writeJson,
  fetch: (request) => fetch(request, { signal: untilDeadline(new URL(request.url).pathname, request.signal) }),
});

requests.use({
  async onRequest({ request }) {
    const url = new URL(request.url);
    const isSignIn = request.method === "POST" && url.pathname.endsWith("/auth/session");
    request.headers.set(CONSOLE, isSignIn ? ANYBODY : drawnFor);
    // Who somebody is does not depend on what they look at.
    if (!tenant || url.pathname.includes("/auth/")) return request;
    url.searchParams.set("tenant_id", tenant);
    const { method, headers, credentials, signal } = request;
    // Not the request's own body: that is a stream, which browsers send over HTTP/2 alone.
    const body = (await request.text()) || undefined;
    return new Request(url, { method, headers, credentials, signal, body });
  },
});

/** Answers come as texts, and `ask` reads them: numbers stay as they are written. */
function asText<M>(method: M): M {
  const typed = method as (path: string, init?: object) => unknown;
  return ((path: string, init?: object) => typed(path, { ...init, parseAs: "text" })) as M;
}

export const client = {
  GET: asText(requests.GET),
  POST: asText(requests.POST),
  PUT: asText(requests.PUT),
  PATCH: asText(requests.PATCH),
  DELETE: asText(requests.DELETE),
};

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** The answer's data, or an `ApiError`. Whoever is signed out meanwhile is asked to sign in again. */
export async function ask<T>(answer: Promise<Answer<T>>): Promise<T> {
  const begun = entries;
  const { data, error, response } = await answer.catch(unreached);
  if (response.ok) return (data ? readJson(data as string) : undefined) as T;
  // There a 401 is about the password that was typed.
  const isOfPassword = /\/auth\/(session|password)$/.test(new URL(response.url).pathname);
  if (response.status === 401 && !isOfPassword) throw signedOut(begun);
  throw known(fromResponse(response, error));
}

/** Whoever is somebody else now is told so over the page, as whoever is signed out is. */
function known(error: ApiError): ApiError {
  if (error.code === "OTHER_SESSION") onSignedOut("other");
  return error;
}

/** Whoever stopped waiting knows why nothing came; everybody else is told that nobody answers. */
export function unreached(cause: unknown): never {
  if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
  if (cause instanceof DOMException && cause.name === "TimeoutError") throw new ApiError("NO_ANSWER", 0, "NO_ANSWER");
  throw new ApiError("NETWORK", 0, "NETWORK");
}

/** The sign-in that lies over the page says all there is to say. */
function signedOut(begun: number): ApiError {
  if (begun === entries) onSignedOut("out");
  return new ApiError("SIGNED_OUT", 401, "SIGNED_OUT");
}

/** A body that is a file, or an answer that is none of ours to read. */
export async function send(path: string, init: RequestInit): Promise<Response> {
  const begun = entries;
  const signal = untilDeadline(new URL(path, location.href).pathname, init.signal);
  const headers = { [CONSOLE]: drawnFor, ...(init.headers as Record<string, string>) };
  const response = await fetch(path, { credentials: "same-origin", ...init, headers, signal }).catch(unreached);
  if (response.ok) return response;
  if (response.status === 401) throw signedOut(begun);
  throw known(fromResponse(response, await response.json().catch(() => null)));
}

/** Who is signed in now, whoever the page was drawn for; nobody, where that cannot be said. */
export async function whoeverIsHere<T>(): Promise<T | null> {
  const headers = { [CONSOLE]: ANYBODY };
  const response = await fetch(`${base}/api/v1/auth/me`, { credentials: "same-origin", headers }).catch(() => null);
  return response?.ok ? ((await response.json()) as T) : null;
}
