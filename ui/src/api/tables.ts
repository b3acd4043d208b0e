// Tables: JSON documents that the server keeps.
import { queryOptions } from "@tanstack/react-query";
import { address, ask, client, send } from "./client";
import type { Table } from "./types";

const at = (id: string) => ({ params: { path: { id } } });

export const tables = queryOptions({
  queryKey: ["tables"],
  queryFn: async () => (await ask(client.GET("/api/v1/tables", { params: { query: { limit: 500 } } }))).items,
});

export const table = (id: string) =>
  queryOptions({ queryKey: ["tables", id], queryFn: () => ask(client.GET("/api/v1/tables/{id}", at(id))) });

export const children = (id: string, json_path: string, page: number) =>
  queryOptions({
    queryKey: ["tables", id, "children", json_path, page],
    queryFn: () =>
      ask(client.GET("/api/v1/tables/{id}/children", { params: { path: { id }, query: { json_path, page } } })),
  });

export const data = (id: string, json_path: string) =>
  queryOptions({
    queryKey: ["tables", id, "data", json_path],
    queryFn: () => ask(client.GET("/api/v1/tables/{id}/data", { params: { path: { id }, query: { json_path } } })),
  });

export const versions = (id: string) =>
  queryOptions({
    queryKey: ["tables", id, "versions"],
    queryFn: async () => (await ask(client.GET("/api/v1/tables/{id}/versions", at(id)))).items,
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
  return response.json();
}

export const exportAddress = (id: string, format: string) => address(`/api/v1/tables/${id}/export`, { format });
