// Tables: JSON documents that the server keeps.
import { queryOptions } from "@tanstack/react-query";
import { address, ask, client, send, unreached } from "./client";
import { everything } from "./everything";
import { readJson } from "./json";
import { jmespath } from "./tools";
import type { Child, Table } from "./types";

const at = (id: string) => ({ params: { path: { id } } });

export const tables = queryOptions({
  queryKey: ["tables"],
  queryFn: () => everything((query) => ask(client.GET("/api/v1/tables", { params: { query } }))),
});

export const table = (id: string) =>
  queryOptions({ queryKey: ["tables", id], queryFn: () => ask(client.GET("/api/v1/tables/{id}", at(id))) });

export const children = (id: string, json_path: string, page: number) =>
  queryOptions({
    queryKey: ["tables", id, "children", json_path, page],
    queryFn: () =>
      ask(client.GET("/api/v1/tables/{id}/children", { params: { path: { id }, query: { json_path, page } } })),
  });

export type Row = { key: string; value: unknown };
export const ROWS = 100;

/** A page of what is at one place, with its values: however large the document is, this much of it comes. */
export const rows = (id: string, json_path: string, page: number) =>
  queryOptions({
    queryKey: ["tables", id, "rows", json_path, page],
    queryFn: async (): Promise<{ rows: Row[]; total: number }> => {
      const query = { json_path, page, limit: ROWS };
      const { items, total, type } = await ask(
        client.GET("/api/v1/tables/{id}/children", { params: { path: { id }, query } }),
      );
      if (type !== "array" && type !== "object") {
        return { rows: [{ key: "", value: (await jmespath("@", id, json_path)).data }], total: 1 };
      }
      if (items.length === 0) return { rows: [], total };
      const groups = type === "array" ? [items.map(({ key }) => key)] : groupsOf(items.map(({ key }) => key));
      const picked = await Promise.all(groups.map((keys) => jmespath(pickOf(type, keys), id, json_path)));
      const values = picked.flatMap(({ data }, at) => {
        const found = (data ?? []) as unknown[];
        return (groups[at] ?? []).map((key, nth): [string, unknown] => [key, found[nth]]);
      });
      // What no query can ask for is known by its beginning.
      const known = new Map(values);
      const valueAt = ({ key, preview }: Child) => (known.has(key) ? known.get(key) : (preview ?? undefined));
      return { rows: items.map((child) => ({ key: child.key, value: valueAt(child) })), total };
    },
  });

/** The JMESPath of these items, or of these fields in their order. */
export function pickOf(type: "array" | "object", keys: string[]): string {
  if (type === "array") return `[${keys[0]}:${Number(keys.at(-1)) + 1}]`;
  return `[${keys.map((key) => JSON.stringify(key)).join(", ")}]`;
}

/** So many bytes the server reads of one query. */
const QUERY_BYTES = 4096;
const BRACKETS = 2;

/** Fields that one query can ask for together; a name that is too long for any query is in none. */
export function groupsOf(keys: string[]): string[][] {
  const groups: string[][] = [];
  let left = 0;
  for (const key of keys) {
    const size = new TextEncoder().encode(`${JSON.stringify(key)}, `).length;
    if (size > QUERY_BYTES - BRACKETS) continue;
    if (size > left) {
      groups.push([]);
      left = QUERY_BYTES - BRACKETS;
    }
    groups.at(-1)?.push(key);
    left -= size;
  }
  return groups;
}

export const versions = (id: string) =>
  queryOptions({
    queryKey: ["tables", id, "versions"],
    queryFn: () =>
      everything((query) => ask(client.GET("/api/v1/tables/{id}/versions", { params: { path: { id }, query } }))),
  });

export const create = (body: { name: string; data: unknown }) =>
  ask(client.POST("/api/v1/tables", { body: body as never }));

export const restore = (id: string, version: number) =>
  ask(client.POST("/api/v1/tables/{id}/restore", { ...at(id), body: { version } }));

export const remove = (id: string) => ask(client.DELETE("/api/v1/tables/{id}", at(id)));

const formats: Record<string, string> = { csv: "csv", jsonl: "jsonl", ndjson: "jsonl" };

/** Makes a table of a file: JSON, CSV or JSON Lines, by its name. */
export async function upload(name: string, file: File): Promise<Table> {
  const format = formats[file.name.split(".").pop()?.toLowerCase() ?? ""];
  const headers = { "Content-Type": "application/octet-stream" };
  const response = await send(address("/api/v1/tables/import", { name, format }), {
    method: "POST",
    body: file,
    headers,
  });
  return readJson(await response.text().catch(unreached)) as Table;
}

export const exportAddress = (id: string, format: string) => address(`/api/v1/tables/${id}/export`, { format });
