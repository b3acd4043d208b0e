// Where the console shows a tool.
import { partsOf } from "../api/catalog";
import type { CatalogTool } from "../api/contract";

export function toolAddress(tool: CatalogTool): { to: string; search?: Record<string, string> } {
  if (tool.id) return { to: `/ui/tools/${tool.id}` };
  const { type, service, tool: name } = partsOf(tool.uri);
  if (type === "flow") return { to: `/ui/flows/${service}` };
  return { to: `/ui/services/${type}/${service}/tools/${name}` };
}

export function serviceAddress(type: string, id: string): string {
  return `/ui/services/${encodeURIComponent(type)}/${encodeURIComponent(id)}`;
}
