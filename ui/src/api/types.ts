// The document's types under the names that the console uses.
import type { components } from "./schema";

type Schemas = components["schemas"];
export type Me = Schemas["Me"];
export type May = Schemas["May"];
export type Service = Schemas["ServiceView"];
export type ServiceType = Schemas["ServiceType"];
export type ServiceTool = Schemas["ServiceToolView"];
export type ImportPreview = Schemas["ImportPreview"];
export type Tool = Schemas["ToolView"] & Record<string, unknown>;
export type ToolVersion = Schemas["ToolVersionView"] & Record<string, unknown>;
export type Table = Schemas["TableView"];
export type Door = Schemas["InstanceView"];
export type BoundTool = Schemas["BoundTool"];
export type Call = Schemas["AuditView"] & { caller_name?: string | null };
export type Flow = Schemas["FlowView"];
export type FlowProblem = Schemas["FlowProblem"];
export type Run = Schemas["RunView"];
export type RunSummary = Schemas["RunSummary"];
export type RunStep = Schemas["StepView"];
export type Approval = Schemas["ApprovalView"];
export type Key = Schemas["KeyView"];
export type User = Schemas["UserView"];
export type Tenant = Schemas["TenantView"];
export type Child = Schemas["Child"];
export type Rendered = Schemas["Rendered"];
export type Picked = Schemas["Picked"];
export type Page<T> = { items: T[]; page: number; limit: number; total: number };
