// What a Tool of type `http` takes besides its request. Services of the same kind have most of it, and words for it.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { serviceTypes } from "../../api/services";
import { isSchema, resolve, type Schema } from "../../form/schema";
import { withoutSecrets } from "../../form/secrets";
import { useWords } from "../../words";

const OF_SERVICES = ["auth_type", "auth_config", "allow_private_network"];
const OF_TOOLS = ["headers", "select", "max_result_bytes", "idempotent", "form_encoding", "error_template"];

/** While nobody knows what a sign-in has, all of it is secret. */
const UNKNOWN: Schema = {
  type: "object",
  properties: { auth_config: { writeOnly: true }, auth: { writeOnly: true } },
};

const pick = (schema: Schema, names: string[]) => {
  const all = (isSchema(schema.properties) ? schema.properties : {}) as Schema;
  return Object.fromEntries(names.flatMap((name) => (name in all ? [[name, all[name]]] : [])));
};

/** The schema of what stands beside the request; nothing until the server has told what it knows. */
export function useHttpSettings(): Schema | undefined {
  const words = useWords();
  const { data } = useQuery(serviceTypes);
  return useMemo(() => {
    const api = data?.find(({ type }) => type === "api");
    if (!api) return undefined;
    const settings = api.settings_schema as Schema;
    const tool = api.tool_schema as Schema;
    const number = (title: string) => ({ type: "integer", title, "x-ui": { advanced: true } });
    return {
      type: "object",
      $defs: { ...(settings.$defs as Schema), ...(tool.$defs as Schema) },
      properties: {
        ...pick(settings, OF_SERVICES),
        ...pick(resolve(tool, tool), OF_TOOLS),
        timeout_seconds: number(words.http.timeout),
        retry_count: number(words.http.retries),
      },
    };
  }, [data, words]);
}

/** A Tool that is typed, without the secrets of its sign-in other than those that are saved. */
export function useBareTool(): <D extends Record<string, unknown>>(draft: D, saved?: Record<string, unknown>) => D {
  const known = useHttpSettings();
  const properties = known?.properties as Schema | undefined;
  const HTTP = properties ? { ...known, properties: { ...properties, auth: properties.auth_config } } : UNKNOWN;
  const schema = {
    type: "object",
    properties: { config: { type: "object", properties: { HTTP } } },
    $defs: known?.$defs,
  };
  return (draft, saved) => withoutSecrets(draft, schema, saved);
}
