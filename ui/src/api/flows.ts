// Flows, their runs, and what waits for somebody's word.
import { queryOptions } from "@tanstack/react-query";
import { address, ask, client } from "./client";
import { everything } from "./everything";
import { write } from "./raw";
import type { FlowProblem, Run, RunStep } from "./types";

const at = (id: string) => ({ params: { path: { id } } });

export const flows = queryOptions({
  queryKey: ["flows"],
  queryFn: () => everything((query) => ask(client.GET("/api/v1/flows", { params: { query } }))),
});

export const flow = (id: string) =>
  queryOptions({ queryKey: ["flows", id], queryFn: () => ask(client.GET("/api/v1/flows/{id}", at(id))) });

export const flowVersions = (id: string) =>
  queryOptions({
    queryKey: ["flows", id, "versions"],
    queryFn: () =>
      everything((query) => ask(client.GET("/api/v1/flows/{id}/versions", { params: { path: { id }, query } }))),
  });

export const flowVersion = (id: string, version: number) =>
  ask(client.GET("/api/v1/flows/{id}/versions/{version}", { params: { path: { id, version } } }));

export const triggers = (id: string) =>
  queryOptions({
    queryKey: ["flows", id, "triggers"],
    queryFn: async () => (await ask(client.GET("/api/v1/flows/{id}/triggers", at(id)))).items,
  });

export const setTriggerEnabled = (id: string, name: string, isOn: boolean) => {
  const params = { path: { id, name } };
  return isOn
    ? ask(client.POST("/api/v1/flows/{id}/triggers/{name}/enable", { params }))
    : ask(client.POST("/api/v1/flows/{id}/triggers/{name}/disable", { params }));
};

const atTrigger = (id: string, name: string) => `/flows/${encodeURIComponent(id)}/triggers/${encodeURIComponent(name)}`;
export const fire = (id: string, name: string, event: unknown) =>
  write<Run>("POST", `${atTrigger(id, name)}/fire`, { event });
/** The secret is shown this once. */
export const rotateSecret = (id: string, name: string) =>
  write<{ secret: string }>("POST", `${atTrigger(id, name)}/rotate-secret`, {});

export const create = (id: string, source: string) => ask(client.POST("/api/v1/flows", { body: { id, source } }));
export const saveDraft = (id: string, source: string, revision: number | undefined) =>
  ask(client.PUT("/api/v1/flows/{id}/draft", { ...at(id), body: { source, revision } }));
export const publish = (id: string) => ask(client.POST("/api/v1/flows/{id}/publish", { ...at(id), body: {} as never }));
export const rollBack = (id: string, version: number) =>
  ask(client.POST("/api/v1/flows/{id}/rollback", { ...at(id), body: { version } }));
export const setEnabled = (id: string, enabled: boolean) =>
  enabled
    ? ask(client.POST("/api/v1/flows/{id}/enable", at(id)))
    : ask(client.POST("/api/v1/flows/{id}/disable", at(id)));
export const remove = (id: string) =>
  ask(client.DELETE("/api/v1/flows/{id}", { params: { path: { id }, query: { force: true } } }));

export type Graph = {
  nodes: { id: string; kind: string; uri?: string | null; line?: number }[];
  edges: { from: string; to: string; kind: string }[];
};
export const validate = (id: string, source: string) =>
  write<{ valid: boolean; errors: FlowProblem[]; graph?: Graph }>("POST", "/flows/validate", { id, source });

export const start = (id: string, inputs: object, version: number | "draft") =>
  ask(
    client.POST("/api/v1/flows/{id}/runs", { ...at(id), body: { inputs: inputs as never, version } }),
  ) as Promise<Run>;

export const runs = (filter: { flow?: string; state?: string; page?: number }) =>
  queryOptions({
    queryKey: ["runs", filter],
    queryFn: () => ask(client.GET("/api/v1/runs", { params: { query: { ...(filter as object), limit: 100 } } })),
  });

const ofRun = (run_id: string) => ({ params: { path: { run_id } } });

export const run = (id: string) =>
  queryOptions({ queryKey: ["runs", id], queryFn: () => ask(client.GET("/api/v1/runs/{run_id}", ofRun(id))) });

const ENDED = ["succeeded", "failed", "cancelled"];
export const isOver = (run: Run): boolean => ENDED.includes(run.state);
const OPEN = ["running", "queued", "waiting"];

/** A step that the end of its run has cut off goes on no more, whatever was last heard of it. */
export const settled = <S extends Pick<RunStep, "state" | "ended_at">>(
  step: S,
  { ended_at }: { ended_at?: string | null },
): S => (OPEN.includes(step.state) ? { ...step, state: "cancelled", ended_at: step.ended_at ?? ended_at } : step);

const LOOK_MS = 700;
const LOOK_WAITING_MS = 5000;

/**
 * A run and what its steps did, asked for again while it goes on: a stream for each tab would take up the few connections
 * that a browser opens. Its steps are asked for behind it, so that those of a run that is over are all there.
 */
export const followedRun = (id: string) =>
  queryOptions({
    queryKey: ["runs", id, "followed"],
    queryFn: async () => {
      const of = await ask(client.GET("/api/v1/runs/{run_id}", ofRun(id)));
      const steps = await everything((query) =>
        ask(client.GET("/api/v1/runs/{run_id}/steps", { params: { path: { run_id: id }, query } })),
      );
      return { run: of, steps: isOver(of) ? steps.map((step) => settled(step, of)) : steps };
    },
    refetchInterval: ({ state: { data } }) => {
      if (!data || isOver(data.run)) return false;
      // The one stream tells when it goes on.
      return data.run.state === "running" || data.run.state === "queued" ? LOOK_MS : LOOK_WAITING_MS;
    },
  });

export const runEvents = (id: string) => address(`/api/v1/runs/${encodeURIComponent(id)}/events`);

export const act = (id: string, action: "cancel" | "pause" | "resume" | "retry") =>
  write<Run>("POST", `/runs/${encodeURIComponent(id)}/${action}`);

export const replay = (id: string) => write<Run>("POST", `/runs/${encodeURIComponent(id)}/replay`, {});
export const signal = (id: string, name: string, body: { data?: unknown; key?: unknown }) =>
  write<void>("POST", `/runs/${encodeURIComponent(id)}/signals/${encodeURIComponent(name)}`, body);

export const approvals = queryOptions({
  queryKey: ["approvals"],
  queryFn: () => everything((query) => ask(client.GET("/api/v1/approvals", { params: { query } }))),
});

export type Decision = { decision: "approve" | "reject"; comment?: string; data?: object };

export const decide = (approval_id: string, body: Decision) =>
  ask(client.POST("/api/v1/approvals/{approval_id}", { params: { path: { approval_id } }, body: body as never }));
