// Who made a change, by name: those who manage may read the lists of keys and users.
import { useQuery } from "@tanstack/react-query";
import { keys, users } from "../api/people";
import { me, useMay } from "../api/session";

/** The name behind an id of a key or user; the id itself, where nobody of that id is known to us. */
export function useNames(): (id: string) => string {
  const enabled = useMay()("manage");
  const all = [useQuery({ ...keys, enabled }).data, useQuery({ ...users, enabled }).data, useQuery(me).data];
  const known = new Map<string, string>();
  for (const one of all.flat()) if (one) known.set(one.id, "username" in one ? one.username : one.name);
  return (id) => known.get(id) ?? id;
}
