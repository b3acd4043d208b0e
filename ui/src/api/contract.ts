// What the contract promises and the OpenAPI document does not describe yet; asked for by `raw.ts`.

export type Health = { state: "ok" | "failing" | "unknown" | "disabled"; since?: string | null; error?: string | null };

export type CatalogTool = {
  name: string;
  uri: string;
  kind: string;
  service?: string | null;
  status: string;
  summary?: string | null;
  id?: string | null;
};
export type CatalogService = {
  type: string;
  id: string;
  name: string;
  health: Health;
  source: string;
  tools: number;
};
export type Catalog = { revision: number; tools: CatalogTool[]; services: CatalogService[] };

export type TrafficNode = {
  id: string;
  name: string;
  kind?: string | null;
  health?: Health | string | null;
  calls: number;
  errors: number;
  p95_ms?: number | null;
};
export type TrafficLink = { from: string; to: string; calls: number; errors: number };
export type Failure = {
  id: string;
  at: string;
  tool: string;
  code?: string | null;
  message?: string | null;
  service?: string | null;
  status?: string;
};
export type Overview = {
  revision: number;
  counts: Record<string, number>;
  window_s: number;
  doors: TrafficNode[];
  tools: TrafficNode[];
  services: TrafficNode[];
  links: TrafficLink[];
  failures: Failure[];
};

export type Series = {
  key: string;
  calls: number[];
  errors: number[];
  refused: number[];
  p50_ms: (number | null)[];
  p95_ms: (number | null)[];
  bytes: number[];
};
export type Stats = { from: string | number; step_s: number; series: Series[] };

export type Step = { name: string; us: number; error?: string | null };
export type Inspection = {
  audit_id?: string | null;
  request?: unknown;
  raw?: unknown;
  attempts?: unknown[];
  steps?: Step[];
};
export type CallError = { code: string; service?: string | null; status?: number | null };
export type CallAnswer = {
  content: Record<string, unknown>[];
  structuredContent?: unknown;
  isError: boolean;
  error?: CallError | null;
  inspection?: Inspection | null;
};

export type ConnectClient = { id: string; title: string; path?: string | null; text: string; link?: string | null };
export type DoctorCheck = { id: string; state: string; detail?: string | null; advice?: string | null };
export type Doctor = { version: string; database: string; checks: DoctorCheck[] };
export type Agent = { id: string; name?: string | null; description?: string | null; model?: string | null };
