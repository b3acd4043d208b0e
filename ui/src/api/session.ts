// Who is signed in.
import { queryOptions, useQuery } from "@tanstack/react-query";
import { ask, client } from "./client";
import { ApiError } from "./error";
import type { May, Me } from "./types";

export type Credentials = { key: string } | { code: string } | { tenant: string; username: string; password: string };

let wasIn = false;

/** Nobody is an answer, too; but not for whoever was in: they stay who they were while they sign in again. */
async function whoAmI(): Promise<Me | null> {
  try {
    const who = await ask(client.GET("/api/v1/auth/me"));
    wasIn = true;
    return who;
  } catch (error) {
    if (!wasIn && error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

export const me = queryOptions({ queryKey: ["me"], queryFn: whoAmI, staleTime: 60_000, retry: false });

export async function signIn(body: Credentials): Promise<Me> {
  const who = await ask(client.POST("/api/v1/auth/session", { body }));
  wasIn = true;
  return who;
}
export const signOut = () => ask(client.DELETE("/api/v1/auth/session"));

/** Whether whoever is signed in may do that; what they may not is not offered. */
export function useMay(): (what: May) => boolean {
  const { data } = useQuery(me);
  return (what) => data?.may.includes(what) ?? false;
}
