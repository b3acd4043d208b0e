// A Tool that is an HTTP request: the request with its sample, how it signs in, and what few need.
import type { Problem } from "../../api/error";
import { useMay } from "../../api/session";
import { SchemaForm } from "../../form";
import { HttpEditor } from "../../form/http";
import { Stack } from "../../kit";
import type { Draft } from "./definition";
import { useHttpSettings } from "./http-settings";

type Props = {
  draft: Draft;
  onDraft: (draft: Draft) => void;
  problems: Problem[];
  id?: string;
  onMake?: () => Promise<string | undefined>;
  saved?: Record<string, unknown>;
};
type Config = { HTTP?: Record<string, unknown> };

export function HttpTool({ draft, onDraft, problems, id, onMake, saved }: Props) {
  const isReadOnly = !useMay()("make_tools");
  const settings = useHttpSettings();
  const make = async () => {
    const made = await onMake?.();
    return made ? { tool: made } : undefined;
  };
  const config = (draft.config ?? {}) as Config;
  const value = config.HTTP ?? {};
  const set = (HTTP: Record<string, unknown>) => onDraft({ ...draft, config: { ...config, HTTP } });
  const prefix = "config.HTTP";
  return (
    <Stack>
      <HttpEditor
        {...{ value, problems, prefix, isReadOnly }}
        onValue={set}
        sample={id ? { tool: id } : make}
        sampleKey={id ?? "new Tool"}
      />
      {settings && (
        <SchemaForm
          {...{ value, problems, prefix, isReadOnly }}
          schema={settings}
          onValue={set}
          saved={(saved?.config as Config | undefined)?.HTTP}
        />
      )}
    </Stack>
  );
}
