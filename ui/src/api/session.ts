// Who is signed in.
import { queryOptions, useQuery } from "@tanstack/react-query";
import { ask, client } from "./client";
import { ApiError } from "./error";
import type { May, Me } from "./types";

export type Credentials = { key: string } | { code: string } | { tenant: string; username: string; password: string };

/** Nobody is an answer, too. */
async function whoAmI(): Promise<Me | null> {
  try {
    return await ask(client.GET("/api/v1/auth/me"));
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

export const me = queryOptions({ queryKey: ["me"], queryFn: whoAmI, staleTime: 60_000, retry: false });

export const signIn = (body: Credentials) => ask(client.POST("/api/v1/auth/session", { body }));
export const signOut = () => ask(client.DELETE("/api/v1/auth/session"));

/** Whether whoever is signed in may do that; what they may not is not offered. */
export function useMay(): (what: May) => boolean {
  const { data } = useQuery(me);
  return (what) => data?.may.includes(what) ?? false;
}
