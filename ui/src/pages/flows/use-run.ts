// A trial run of what is on the canvas: each step's state as it changes.
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { followedRun, start } from "../../api/flows";
import type { RunStep } from "../../api/types";
import { useAddress } from "../../kit";

export type FlowRun = ReturnType<typeof useRun>;

/** The state of each step of the flow itself; one whose parts have begun is running. */
function statesOf(steps: RunStep[]): Map<string, string> {
  const states = new Map<string, string>();
  for (const { path, state } of steps) {
    const top = path.split(/[.[]/)[0] ?? "";
    states.set(top, path === top ? state : (states.get(top) ?? "running"));
  }
  return states;
}

export function useRun() {
  const [{ run: id = null }] = useAddress<"run">();
  const navigate = useNavigate();
  const { data } = useQuery({ ...followedRun(id ?? ""), enabled: !!id });
  const states = useMemo(() => statesOf((id && data?.steps) || []), [id, data]);
  const begin = async (flow: string, inputs: object) => {
    const run = await start(flow, inputs, "draft");
    // In the address, so that whoever comes back from a failed step finds the run as it was.
    navigate({ to: `/ui/flows/${flow}`, search: ((old: object) => ({ ...old, run: run.id })) as never, replace: true });
    return run;
  };
  const close = () =>
    void navigate({ to: ".", search: ((old: object) => ({ ...old, run: undefined })) as never, replace: true });
  return { id, states, begin, close };
}
