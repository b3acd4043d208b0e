// How long an answer is waited for: whoever asks a server that is frozen is told so, and loses nothing.

/** Longer than any work of the server's own. */
const MOST_MS = 30_000;
/** What takes as long as something outside of the server does, and can be stopped by whoever asked. */
const UNHURRIED = /\/(call|test|import|validate|runs|events|doctor|export)$/;

export function untilDeadline(path: string, stopped?: AbortSignal | null): AbortSignal | undefined {
  if (UNHURRIED.test(path)) return stopped ?? undefined;
  const late = AbortSignal.timeout(MOST_MS);
  return stopped ? AbortSignal.any([stopped, late]) : late;
}
