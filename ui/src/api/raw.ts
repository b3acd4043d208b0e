// Requests whose paths or bodies are known only when they are made; the types of their answers are the caller's.
import { address, send, unreached } from "./client";
import { readJson, writeJson } from "./json";

export async function get<T>(path: string, query: Record<string, string | undefined> = {}, signal?: AbortSignal) {
  const response = await send(address(`/api/v1${path}`, query), { signal });
  return (await read(response)) as T;
}

/** Figures of ours: they are drawn and reckoned with, so they are plain numbers, however they are written. */
export async function figures<T>(path: string, query: Record<string, string | undefined>, signal?: AbortSignal) {
  const response = await send(address(`/api/v1${path}`, query), { signal });
  return (await response.json().catch(unreached)) as T;
}

const read = async (response: Response) => readJson(await response.text().catch(unreached));

export async function post<T>(path: string, body: unknown, query: Record<string, string | undefined> = {}) {
  return write<T>("POST", path, body, query);
}

export async function write<T>(
  method: "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
  query: Record<string, string | undefined> = {},
  signal?: AbortSignal,
) {
  const init: RequestInit = { method, signal };
  if (body !== undefined)
    Object.assign(init, { body: writeJson(body), headers: { "Content-Type": "application/json" } });
  const response = await send(address(`/api/v1${path}`, query), init);
  return (response.status === 204 ? undefined : await read(response)) as T;
}
