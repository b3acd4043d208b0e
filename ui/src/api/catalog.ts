// Everything that can be called, in a line each, and what one needs to call it.
import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "./client";
import { get, write } from "./raw";
import { definitionOf, tool } from "./tools";
import type { CallAnswer, Catalog, Overview, Stats, ToolEntry } from "./types";

export const catalog = queryOptions({
  queryKey: ["catalog"],
  queryFn: ({ signal }) => get<Catalog>("/catalog", {}, signal),
  staleTime: 5_000,
});

export const overview = queryOptions({
  queryKey: ["overview"],
  queryFn: ({ signal }) => get<Overview>("/overview", {}, signal),
  refetchInterval: 5_000,
});

export const stats = (by: string, window: number, step: number) =>
  queryOptions({
    queryKey: ["stats", by, window, step],
    queryFn: ({ signal }) =>
      get<Stats>("/stats", { by: by || undefined, window: String(window), step: String(step) }, signal),
    refetchInterval: 10_000,
  });

/** `api://crm/get_order?x` is the type, the service and the tool. */
export function partsOf(uri: string): { type: string; service: string; tool: string } {
  const [, type = "", service = "", tool = ""] = /^([^:]+):\/\/([^/?]*)(?:\/([^?]*))?/.exec(uri) ?? [];
  return { type, service: decodeURIComponent(service), tool: decodeURIComponent(tool) };
}

/** The schema of a tool's arguments. */
export const inputSchema = (entry: ToolEntry | undefined) =>
  queryOptions({
    queryKey: ["schema", entry?.uri],
    enabled: !!entry,
    staleTime: 10_000,
    queryFn: () => (entry?.id ? schemaOfOwn(entry.id) : schemaOfService(entry?.uri ?? "", entry?.name ?? "")),
  });

type Schema = Record<string, unknown>;

async function schemaOfOwn(id: string): Promise<Schema> {
  const body = definitionOf(await tool(id));
  const checked = await ask(client.POST("/api/v1/tools/validate", { body: body as never }));
  return (checked.inputSchema ?? {}) as Schema;
}

async function schemaOfService(uri: string, name: string): Promise<Schema> {
  const { type, service, tool: id } = partsOf(uri);
  const params = { path: { type, id: service, tool: id } };
  try {
    const found = await ask(client.GET("/api/v1/services/{type}/{id}/tools/{tool}", { params }));
    return (found.inputSchema ?? {}) as Schema;
  } catch {
    return schemaByName(name);
  }
}

/** Flows and agents are tools without a service of their own: what clients are told of them is all there is. */
async function schemaByName(name: string): Promise<Schema> {
  for (let page = 1; ; page++) {
    const { tools, total, limit } = await ask(
      client.GET("/api/v1/mcp/tools", { params: { query: { page, limit: 500 } } }),
    );
    const found = tools.find((tool) => tool.name === name);
    if (found || page * limit >= total) return (found?.inputSchema ?? {}) as Schema;
  }
}

export const call = (uri: string, args: Record<string, unknown>, signal?: AbortSignal) =>
  write<CallAnswer>("POST", "/call", { uri, arguments: args }, { inspect: "true" }, signal);
