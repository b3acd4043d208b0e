// Doors: MCP instances with a key of their own and chosen tools.
import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "./client";
import { everything } from "./everything";
import { get, write } from "./raw";
import * as tools from "./tools";
import type { BoundTool, ConnectClient, Door, ToolEntry } from "./types";

const at = (id: string) => ({ params: { path: { mcp_id: id } } });

export const doors = queryOptions({
  queryKey: ["doors"],
  queryFn: () => everything((query) => ask(client.GET("/api/v1/mcp", { params: { query } }))),
});

export const door = (id: string) =>
  queryOptions({ queryKey: ["doors", id], queryFn: () => ask(client.GET("/api/v1/mcp/id/{mcp_id}", at(id))) });

export const bindings = (id: string) =>
  queryOptions({
    queryKey: ["doors", id, "bindings"],
    queryFn: () =>
      everything((page): Promise<{ items: BoundTool[]; total: number }> => {
        const params = { path: { mcp_id: id }, query: { include_disabled: true, ...page } };
        return ask(client.GET("/api/v1/mcp/id/{mcp_id}/tools", { params }));
      }),
  });

export const connect = (id: string) =>
  queryOptions({
    queryKey: ["doors", id, "connect"],
    queryFn: () => get<{ clients: ConnectClient[] }>(`/mcp/id/${encodeURIComponent(id)}/connect`),
  });

export type NewDoor = Door & { api_key: string };

export const create = (name: string) =>
  ask(client.POST("/api/v1/mcp", { body: { name } })) as unknown as Promise<NewDoor>;

export const update = (id: string, body: object) => write<Door>("PATCH", `/mcp/id/${encodeURIComponent(id)}`, body);

export const rotate = (id: string) =>
  ask(client.POST("/api/v1/mcp/id/{mcp_id}/rotate-key", at(id))) as unknown as Promise<NewDoor>;

export const remove = (id: string) => ask(client.DELETE("/api/v1/mcp/id/{mcp_id}", at(id)));

export const setBinding = (id: string, tool_id: string, status: boolean) =>
  ask(
    client.PATCH("/api/v1/mcp/id/{mcp_id}/bindings/{tool_id}", {
      params: { path: { mcp_id: id, tool_id } },
      body: { status },
    }),
  );

export const unbind = (id: string, tool_id: string) =>
  ask(client.DELETE("/api/v1/mcp/id/{mcp_id}/bindings/{tool_id}", { params: { path: { mcp_id: id, tool_id } } }));

/** Binds any tool; one of a service first gets a Tool that leads to it. */
export async function bind(id: string, entries: ToolEntry[]): Promise<void> {
  const ids: string[] = [];
  for (const entry of entries) ids.push(entry.id ?? (await tools.create(alias(entry))).id);
  await ask(
    client.POST("/api/v1/mcp/id/{mcp_id}/bindings", {
      ...at(id),
      body: { bindings: ids.map((tool_id) => ({ tool_id })) },
    }),
  );
}

function alias(entry: ToolEntry): object {
  const name = entry.uri.replace(/^[^:]+:\/\/[^/]*\//, "").replace(/[^A-Za-z0-9_.-]/g, "_") || entry.name;
  return { name, type: "uri", uri: entry.uri };
}
