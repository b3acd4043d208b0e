// Calls: the audit, and what is still kept of each.
import { queryOptions } from "@tanstack/react-query";
import { address } from "./client";
import { everything } from "./everything";
import { get } from "./raw";
import type { Call, Inspection, Page } from "./types";

export type CallFilter = Partial<
  Record<"tool" | "service" | "caller" | "door" | "status" | "code" | "from" | "to" | "request_id" | "kind", string>
>;

const LIMIT = "100";

export const calls = (filter: CallFilter, page = 1) =>
  queryOptions({
    queryKey: ["calls", filter, page],
    queryFn: ({ signal }) =>
      get<Page<Call>>("/audit", { kind: "call", ...filter, page: String(page), limit: LIMIT }, signal),
  });

export const call = (id: string) =>
  queryOptions({
    queryKey: ["calls", id],
    queryFn: ({ signal }) =>
      get<Call & { inspection?: Inspection | null }>(`/audit/${encodeURIComponent(id)}`, {}, signal),
  });

export const exportAddress = (filter: CallFilter) => address("/api/v1/audit/export", { ...filter, format: "csv" });

/** What a run has called, by the step that called it last. */
export const callsBySteps = (run: string) =>
  queryOptions({
    queryKey: ["runs", run, "calls"],
    queryFn: async () => new Map((await callsOfRun(run)).map((call) => [call.node ?? "", call.id])),
  });

/** The calls of a run, the oldest first. */
export async function callsOfRun(run: string): Promise<Call[]> {
  const items = await everything(({ page, limit }) =>
    get<Page<Call>>("/audit", { kind: "call", run, page: String(page), limit: String(limit) }),
  );
  return items.toReversed();
}

/** The call that a step of a run made last. */
export async function findStepCall(run: string, node: string): Promise<Call | undefined> {
  return (await callsOfRun(run)).findLast((call) => call.node === node);
}
