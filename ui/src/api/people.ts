// Keys, users and tenants; the server's own health.
import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "./client";
import { get, write } from "./raw";
import type { Doctor, Key } from "./types";

const many = { params: { query: { limit: 500 } } };

export const keys = queryOptions({
  queryKey: ["keys"],
  queryFn: async () => (await ask(client.GET("/api/v1/keys", many))).items,
});
export const users = queryOptions({
  queryKey: ["users"],
  queryFn: async () => (await ask(client.GET("/api/v1/users", many))).items,
});
export const tenants = queryOptions({
  queryKey: ["tenants"],
  queryFn: async () => (await ask(client.GET("/api/v1/tenants", many))).items,
});

export type Person = "keys" | "users" | "tenants";
export const create = (what: Person, body: object) => write<Key & { key?: string }>("POST", `/${what}`, body);
export const update = (what: Person, id: string, body: object) =>
  write<unknown>("PATCH", `/${what}/${encodeURIComponent(id)}`, body);
export const remove = (what: Person, id: string) => write<void>("DELETE", `/${what}/${encodeURIComponent(id)}`);

export const doctor = queryOptions({ queryKey: ["doctor"], queryFn: () => get<Doctor>("/doctor") });
