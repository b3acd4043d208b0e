// Services: what is outside, as it is configured.
import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "./client";
import { ApiError, type Problem } from "./error";
import { everything } from "./everything";
import { post } from "./raw";
import type { ImportPreview, Service } from "./types";

export const serviceTypes = queryOptions({
  queryKey: ["service-types"],
  queryFn: async () => (await ask(client.GET("/api/v1/service-types"))).items,
  staleTime: 300_000,
});

const at = (type: string, id: string) => ({ params: { path: { type, id } } });

export const service = (type: string, id: string) =>
  queryOptions({
    queryKey: ["services", type, id],
    queryFn: () => ask(client.GET("/api/v1/services/{type}/{id}", at(type, id))),
  });

export const serviceTools = (type: string, id: string) =>
  queryOptions({
    queryKey: ["services", type, id, "tools"],
    queryFn: () =>
      everything((query) =>
        ask(client.GET("/api/v1/services/{type}/{id}/tools", { params: { path: { type, id }, query } })),
      ),
  });

/** One tool of a service; nothing, where there is none of that name. */
export const serviceTool = (type: string, id: string, tool: string) =>
  queryOptions({
    queryKey: ["services", type, id, "tools", tool],
    queryFn: async () => {
      const params = { path: { type, id, tool } };
      try {
        return await ask(client.GET("/api/v1/services/{type}/{id}/tools/{tool}", { params }));
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
  });

export const pins = (type: string, id: string) =>
  queryOptions({
    queryKey: ["services", type, id, "pins"],
    queryFn: () => ask(client.GET("/api/v1/services/{type}/{id}/pins", at(type, id))),
  });

export const references = (type: string, id: string) =>
  queryOptions({
    queryKey: ["services", type, id, "references"],
    queryFn: async () => (await ask(client.GET("/api/v1/services/{type}/{id}/references", at(type, id)))).items,
  });

export const approve = (type: string, id: string, tool: { name: string; fingerprint: string }) =>
  ask(client.POST("/api/v1/services/{type}/{id}/pins/approve", { ...at(type, id), body: { tools: [tool] } }));

export type ServiceDraft = {
  id: string;
  type: string;
  name?: string;
  config: Record<string, unknown>;
  tools?: object[];
};

export const create = (body: ServiceDraft): Promise<Service> =>
  ask(client.POST("/api/v1/services", { body: body as never }));

export const update = (type: string, id: string, body: object): Promise<Service> =>
  ask(client.PATCH("/api/v1/services/{type}/{id}", { ...at(type, id), body: body as never }));

export const remove = (type: string, id: string) => {
  const params = { path: { type, id }, query: { force: true } };
  return ask(client.DELETE("/api/v1/services/{type}/{id}", { params }));
};

export const setEnabled = (type: string, id: string, enabled: boolean) =>
  enabled
    ? ask(client.POST("/api/v1/services/{type}/{id}/enable", at(type, id)))
    : ask(client.POST("/api/v1/services/{type}/{id}/disable", at(type, id)));

export const test = (type: string, id: string) => ask(client.POST("/api/v1/services/{type}/{id}/test", at(type, id)));

/** Asks whether settings would do, and with `test` whether something answers there. */
export const validate = (body: ServiceDraft & { test?: boolean }) =>
  post<{
    valid: boolean;
    errors: Problem[];
    test?: { ok: boolean; duration_ms: number; error?: { code?: string; message: string } | null } | null;
  }>("/services/validate", body);

export type Import = {
  url?: string;
  document?: unknown;
  id?: string;
  name?: string;
  include?: string[];
  config?: object;
};

export const preview = (type: string, body: Import) =>
  ask(
    client.POST("/api/v1/services/{type}/import", {
      params: { path: { type } },
      body: { ...body, mode: "preview" } as never,
    }),
  ) as Promise<ImportPreview>;

export const importAs = (type: string, body: Import) =>
  ask(
    client.POST("/api/v1/services/{type}/import", {
      params: { path: { type } },
      body: { ...body, mode: "create" } as never,
    }),
  ) as unknown as Promise<Service>;

const tool = (type: string, id: string, tool: string) => ({ params: { path: { type, id, tool } } });

export const saveTool = (type: string, id: string, known: string | null, body: object) =>
  known
    ? ask(client.PATCH("/api/v1/services/{type}/{id}/tools/{tool}", { ...tool(type, id, known), body: body as never }))
    : ask(client.POST("/api/v1/services/{type}/{id}/tools", { ...at(type, id), body: body as never }));

export const removeTool = (type: string, id: string, name: string) => {
  const params = { path: { type, id, tool: name }, query: { force: true } };
  return ask(client.DELETE("/api/v1/services/{type}/{id}/tools/{tool}", { params }));
};
