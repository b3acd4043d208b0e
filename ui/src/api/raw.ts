// Requests whose paths or bodies are known only when they are made; the types of their answers are the caller's.
import { address, send } from "./client";

export async function get<T>(path: string, query: Record<string, string | undefined> = {}, signal?: AbortSignal) {
  const response = await send(address(`/api/v1${path}`, query), { signal });
  return (await response.json()) as T;
}

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
    Object.assign(init, { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
  const response = await send(address(`/api/v1${path}`, query), init);
  return (response.status === 204 ? undefined : await response.json()) as T;
}
