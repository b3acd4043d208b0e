// Where the console shows a tool.
import { partsOf } from "../api/catalog";
import type { CatalogTool, Tool, ToolEntry } from "../api/types";

export function toolAddress(tool: CatalogTool): { to: string; search?: Record<string, string> } {
  if (tool.id) return { to: `/ui/tools/${tool.id}` };
  const { type, service, tool: name } = partsOf(tool.uri);
  if (type === "flow") return { to: serviceAddress(type, service) };
  if (type === "agent") return { to: `/ui/agents/${encodeURIComponent(service)}` };
  // What is the server's own has no definition that anybody keeps.
  if (type === "flows" || !name) return { to: "/ui/try", search: { uri: tool.uri } };
  return { to: `${serviceAddress(type, service)}/tools/${encodeURIComponent(name)}` };
}

/** Of a flow, which calls know as a service as well, its own page. */
export function serviceAddress(type: string, id: string): string {
  if (type === "flow") return `/ui/flows/${encodeURIComponent(id)}`;
  return `/ui/services/${encodeURIComponent(type)}/${encodeURIComponent(id)}`;
}

/** A Tool of the tenant as the catalog would name it. */
export const entryOf = (tool: Tool): ToolEntry => ({ name: tool.name, uri: tool.address, kind: "tool", id: tool.id });
