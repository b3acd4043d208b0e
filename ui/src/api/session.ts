// Who is signed in.
import { queryOptions, useQuery } from "@tanstack/react-query";
import { base } from "./base";
import { ask, client, comeIn, drawFor } from "./client";
import { ApiError } from "./error";
import type { May, Me } from "./types";

export type Credentials = { key: string } | { code: string } | { tenant: string; username: string; password: string };

let wasIn = false;

/** Other tabs of the same browser have the same cookie: they are told who signs in, and that somebody signed out. */
const tabs = globalThis.window?.BroadcastChannel ? new BroadcastChannel(`session ${base}`) : null;

export function whenAnotherTab(then: (who: Me | null) => void): () => void {
  const hear = ({ data }: MessageEvent<Me | null>) => then(data);
  tabs?.addEventListener("message", hear);
  return () => tabs?.removeEventListener("message", hear);
}

export const isSame = (one: Me, other: Me): boolean => one.id === other.id && one.tenant === other.tenant;

/** Nobody is an answer, too; but not for whoever was in: they stay who they were while they sign in again. */
async function whoAmI(): Promise<Me | null> {
  try {
    const who = await ask(client.GET("/api/v1/auth/me"));
    wasIn = true;
    drawFor(who);
    return who;
  } catch (error) {
    if (!wasIn && error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

export const me = queryOptions({ queryKey: ["me"], queryFn: whoAmI, staleTime: 60_000, retry: false });

export async function signIn(body: Credentials): Promise<Me> {
  const who = await ask(client.POST("/api/v1/auth/session", { body }));
  tabs?.postMessage(who);
  return who;
}

/** The page is theirs from here on. */
export function enterAs(who: Me): void {
  wasIn = true;
  comeIn();
  drawFor(who);
}

export async function signOut(): Promise<void> {
  await ask(client.DELETE("/api/v1/auth/session"));
  tabs?.postMessage(null);
}

/** Whether whoever is signed in may do that; what they may not is not offered. */
export function useMay(): (what: May) => boolean {
  const { data } = useQuery(me);
  return (what) => data?.may.includes(what) ?? false;
}
