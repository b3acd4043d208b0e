// Everything that can be called, in a line each, and what one needs to call it.
import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "./client";
import { ApiError } from "./error";
import { figures, get, write } from "./raw";
import { definitionOf, tool, tools } from "./tools";
import type { CallAnswer, Catalog, CatalogTool, May, Overview, Stats, Tool, ToolEntry } from "./types";

/** What answers for the runs of flows is part of the server: nobody has set it up, and it has no page. */
const isTheServers = (type: string | null | undefined) => type === "flows";

/** Without what is no service of theirs. */
export const ofTheirs = (all: Catalog): Catalog => ({
  ...all,
  services: all.services.filter(({ type }) => !isTheServers(type)),
});

const seenByThem = (all: Overview): Overview => ({
  ...all,
  services: all.services.filter(({ kind }) => !isTheServers(kind)),
});

export const catalog = queryOptions({
  queryKey: ["catalog"],
  queryFn: ({ signal }) => get<Catalog>("/catalog", {}, signal),
  select: ofTheirs,
  staleTime: 5_000,
});

export const overview = queryOptions({
  queryKey: ["overview"],
  queryFn: ({ signal }) => figures<Overview>("/overview", {}, signal),
  select: seenByThem,
  refetchInterval: 5_000,
});

export const stats = (by: string, window: number, step: number) =>
  queryOptions({
    queryKey: ["stats", by, window, step],
    queryFn: ({ signal }) =>
      figures<Stats>("/stats", { by: by || undefined, window: String(window), step: String(step) }, signal),
    refetchInterval: 10_000,
  });

/** `api://crm/get_order?x` is the type, the service and the tool. */
export function partsOf(uri: string): { type: string; service: string; tool: string } {
  const [, type = "", service = "", tool = ""] = /^([^:]+):\/\/([^/?]*)(?:\/([^?]*))?/.exec(uri) ?? [];
  return { type, service: decodeURIComponent(service), tool: decodeURIComponent(tool) };
}

/** The address of the tool alone: what a call may set behind `?`, like its time limit, is not part of which one it is. */
export const withoutOptions = (uri: string): string => uri.replace(/\?.*/s, "");

/** The schema of a tool's arguments; null where it is not told to whoever asks. */
export const inputSchema = (entry: ToolEntry | undefined, may: (what: May) => boolean) =>
  queryOptions({
    queryKey: ["schema", entry?.uri],
    enabled: !!entry,
    staleTime: 10_000,
    queryFn: () => (entry ? schemaOf(entry, may("make_tools")) : null),
  });

/** The Tool; for whoever may call it and not read it, what the catalog knows of it. Callers read their own. */
export const shownTool = (id: string, isCaller: boolean) =>
  queryOptions({
    queryKey: ["tools", id, "shown"],
    queryFn: async (): Promise<Tool | CatalogTool> => {
      if (!isCaller || (await tools()).some((one) => one.id === id)) return tool(id);
      const { tools: callable } = await get<Catalog>("/catalog");
      return callable.find((one) => one.id === id) ?? tool(id);
    },
  });

type Schema = Record<string, unknown>;

/** Tools of the tenant's own, also while the catalog does not know them yet, and the server's own. */
const OF_NO_SERVICE = ["tool", "flows"];

/**
 * What clients are told of a tool is what every caller may know of it. What they are not told of, because it is no
 * longer or not yet active, is looked up where whoever looks after it may.
 */
async function schemaOf({ uri, name, id }: ToolEntry, canMake: boolean): Promise<Schema | null> {
  const { type, service: own } = partsOf(uri);
  const isOfNone = id || OF_NO_SERVICE.includes(type);
  const ofService = isOfNone ? undefined : await unlessRefused(schemaOfService(uri));
  const told = ofService ?? (await schemaByName(type === "tool" && name === uri ? own : name));
  return told ?? (id && canMake ? await unlessRefused(schemaOfDraft(id)) : undefined) ?? null;
}

/** Nothing, where it is not there or not for us. */
async function unlessRefused<T>(asked: Promise<T>): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (error instanceof ApiError && (error.status === 403 || error.status === 404)) return undefined;
    throw error;
  });
}

async function schemaOfDraft(id: string): Promise<Schema | undefined> {
  const body = definitionOf(await tool(id));
  const checked = await ask(client.POST("/api/v1/tools/validate", { body: body as never }));
  return (checked.inputSchema ?? undefined) as Schema | undefined;
}

async function schemaOfService(uri: string): Promise<Schema | undefined> {
  const { type, service, tool: id } = partsOf(uri);
  if (!service || !id) return undefined;
  const params = { path: { type, id: service, tool: id } };
  const found = await ask(client.GET("/api/v1/services/{type}/{id}/tools/{tool}", { params }));
  return (found.inputSchema ?? undefined) as Schema | undefined;
}

async function schemaByName(name: string): Promise<Schema | undefined> {
  for (let page = 1; ; page++) {
    const { tools, total, limit } = await ask(
      client.GET("/api/v1/mcp/tools", { params: { query: { page, limit: 1000 } } }),
    );
    const found = tools.find((tool) => tool.name === name);
    if (found || page * limit >= total) return found?.inputSchema as Schema | undefined;
  }
}

export const call = (uri: string, args: Record<string, unknown>, signal?: AbortSignal) =>
  write<CallAnswer>("POST", "/call", { uri, arguments: args }, { inspect: "true" }, signal);
