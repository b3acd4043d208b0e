// UI-18: every name in the list of tools leads somewhere.
import { expect, it } from "vitest";
import type { CatalogTool } from "../api/types";
import { serviceAddress, toolAddress } from "./address";

it.each([
  [{ uri: "tool://query/call", id: "t1" }, { to: "/ui/tools/t1" }],
  [{ uri: "api://crm/get%20order" }, { to: "/ui/services/api/crm/tools/get%20order" }],
  [{ uri: "flow://intake" }, { to: "/ui/flows/intake" }],
  [{ uri: "agent://helper" }, { to: "/ui/agents/helper" }],
  [{ uri: "flows://runs/flow_run" }, { to: "/ui/try", search: { uri: "flows://runs/flow_run" } }],
])("finds the page of %o", (tool, expected) => {
  expect(toolAddress(tool as CatalogTool)).toEqual(expected);
});

/** Calls know flows as services, too; the page of a flow is its own. */
it("finds the page of what answered", () => {
  expect(serviceAddress("api", "a b")).toBe("/ui/services/api/a%20b");
  expect(serviceAddress("flow", "intake")).toBe("/ui/flows/intake");
});
