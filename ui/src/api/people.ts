// Keys, users and tenants; the server's own health.
import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "./client";
import { everything } from "./everything";
import { get, write } from "./raw";
import type { Doctor, Key } from "./types";

export const keys = queryOptions({
  queryKey: ["keys"],
  queryFn: () => everything((query) => ask(client.GET("/api/v1/keys", { params: { query } }))),
});
export const users = queryOptions({
  queryKey: ["users"],
  queryFn: () => everything((query) => ask(client.GET("/api/v1/users", { params: { query } }))),
});
export const tenants = queryOptions({
  queryKey: ["tenants"],
  queryFn: () => everything((query) => ask(client.GET("/api/v1/tenants", { params: { query } }))),
});

export type Person = "keys" | "users" | "tenants";
/** One of them, as it is now. */
export const one = <T>(what: Person, id: string) =>
  queryOptions({ queryKey: [what, id], queryFn: () => get<T>(`/${what}/${encodeURIComponent(id)}`) });

/** One's own password. */
export const changePassword = (body: { old_password: string; new_password: string }) =>
  ask(client.POST("/api/v1/auth/password", { body }));

export const create = (what: Person, body: object) => write<Key & { key?: string }>("POST", `/${what}`, body);
export const update = <T = unknown>(what: Person, id: string, body: object) =>
  write<T>("PATCH", `/${what}/${encodeURIComponent(id)}`, body);
export const remove = (what: Person, id: string) => write<void>("DELETE", `/${what}/${encodeURIComponent(id)}`);

export const doctor = queryOptions({ queryKey: ["doctor"], queryFn: () => get<Doctor>("/doctor") });
