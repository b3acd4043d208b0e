// Once nothing else is to be done, the other pages and what they show with are fetched, so that going there takes no time.
import { loadCanvas } from "../canvas";
import { loadPlot } from "../chart";
import { loadEditor } from "../editor";
import { pages } from "../routes";

export function prefetchPages(): void {
  const later = window.requestIdleCallback ?? ((then: () => void) => setTimeout(then, 2000));
  const all = [...pages.map(({ load }) => load), loadEditor, loadCanvas, loadPlot];
  later(() => {
    for (const load of all) void load().catch(() => undefined);
  });
}
