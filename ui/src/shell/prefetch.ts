// Once nothing else is to be done, the other pages are fetched, so that going there takes no time.
import { pages } from "../routes";

export function prefetchPages(): void {
  const later = window.requestIdleCallback ?? ((then: () => void) => setTimeout(then, 2000));
  later(() => {
    for (const { load } of pages) void load().catch(() => undefined);
  });
}
