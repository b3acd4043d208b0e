// What the server refuses with (RFC 9457), and what happens when it cannot be asked at all.

export type Problem = { path: string; code: string; message: string; line?: number | null; column?: number | null };

/** All that is wrong with the field of this path, a line each. */
export function messageAt(problems: Problem[], path: string): string | undefined {
  return joined(problems.filter((problem) => problem.path === path));
}

/** Their messages, each once; nothing where there are none. */
export function joined(problems: { message: string }[]): string | undefined {
  return [...new Set(problems.map(({ message }) => message))].join("\n") || undefined;
}

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly requestId?: string,
    readonly problems: Problem[] = [],
  ) {
    super(message);
  }

  /** Somebody else has changed it since it was read. */
  get isConflict(): boolean {
    return this.status === 409 && this.code === "CONFLICT";
  }
}

type Body = { detail?: string; title?: string; code?: string; request_id?: string; errors?: Problem[] };

export function fromResponse(response: Response, body: unknown): ApiError {
  const problem: Body = body && typeof body === "object" ? body : {};
  const message = problem.detail || problem.title || `${response.status} ${response.statusText}`;
  const id = problem.request_id ?? response.headers.get("x-request-id") ?? undefined;
  return new ApiError(message, response.status, problem.code ?? String(response.status), id, problem.errors ?? []);
}
