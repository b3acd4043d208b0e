// Tools of the tenant's own.
import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "./client";
import { everything } from "./everything";
import type { Picked, Rendered, Tool, ToolVersion } from "./types";

const at = (id: string) => ({ params: { path: { id } } });

export const tool = async (id: string) => (await ask(client.GET("/api/v1/tools/{id}", at(id)))) as Tool;

/** All that whoever asks may read. */
export const tools = () => everything((query) => ask(client.GET("/api/v1/tools", { params: { query } })));

export const toolQuery = (id: string) => queryOptions({ queryKey: ["tools", id], queryFn: () => tool(id) });

export const toolVersions = (id: string) =>
  queryOptions({
    queryKey: ["tools", id, "versions"],
    queryFn: () =>
      everything((query): Promise<{ items: ToolVersion[]; total: number }> => {
        const params = { path: { id }, query };
        return ask(client.GET("/api/v1/tools/{id}/versions", { params })) as never;
      }),
  });

const MADE_BY_SERVER = ["owner", "address", "created_at", "updated_at", "version", "dropped_secrets"];

/** A Tool without what only the server says about it: what may be sent back. */
export function definitionOf(tool: Record<string, unknown>): Record<string, unknown> {
  const kept = Object.entries(tool).filter(([key, value]) => !MADE_BY_SERVER.includes(key) && value !== null);
  return Object.fromEntries(kept);
}

export const create = async (body: object) =>
  (await ask(client.POST("/api/v1/tools", { body: body as never }))) as Tool;

export const update = async (id: string, body: object) =>
  (await ask(client.PATCH("/api/v1/tools/{id}", { ...at(id), body: body as never }))) as Tool;

export const remove = (id: string) => ask(client.DELETE("/api/v1/tools/{id}", at(id)));

export const rollBack = (id: string, version: number) =>
  ask(client.POST("/api/v1/tools/{id}/rollback", { ...at(id), body: { version } }));

export const trial = (id: string, args: object) =>
  ask(client.POST("/api/v1/tools/{id}/test", { ...at(id), body: { arguments: args as never } }));

export const render = (template: string, sample: unknown): Promise<Rendered> =>
  ask(client.POST("/api/v1/templates/render", { body: { template, sample } }));

export const jmespath = (expression: string, table_id: string, json_path = ""): Promise<Picked> =>
  ask(client.POST("/api/v1/jmespath", { body: { expression, table_id, json_path } }));
