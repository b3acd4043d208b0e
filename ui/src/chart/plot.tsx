// uPlot in React's hands.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { ChartProps } from ".";
import { alone } from "./alone";

const HEIGHT = 200;
const COLOURS = 6;
/** Lines differ by their dashes, too: nothing is told by colour alone. */
const DASHES = [[], [6, 3], [2, 3], [10, 4], [1, 2], [8, 2, 2, 2]];

export default function Plot({ times, lines }: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const draw = () => {
      element.replaceChildren();
      return new uPlot(
        optionsFor(
          element,
          lines.map((line) => line.name),
        ),
        [times, ...lines.map((line) => line.values)],
        element,
      );
    };
    let plot = draw();
    const follow = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    follow.observe(element);
    const theme = new MutationObserver(() => {
      plot.destroy();
      plot = draw();
    });
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      follow.disconnect();
      theme.disconnect();
      plot.destroy();
    };
  }, [times, lines]);
  return <div ref={host} />;
}

/** Times as the chosen language writes them; days once they differ. */
function clock(seconds: number): string {
  const at = new Date(seconds * 1000);
  const isMidnight = at.getHours() === 0 && at.getMinutes() === 0;
  const style: Intl.DateTimeFormatOptions = isMidnight
    ? { month: "short", day: "numeric" }
    : { hour: "2-digit", minute: "2-digit" };
  return new Intl.DateTimeFormat(document.documentElement.lang, style).format(at);
}

function optionsFor(element: HTMLElement, names: string[]): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--muted"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1 },
  };
  const series = names.map((label, at) => ({
    label,
    stroke: colour(`--chart-${(at % COLOURS) + 1}`),
    width: 2,
    dash: DASHES[Math.floor(at / COLOURS + at) % DASHES.length],
    // A value between two gaps is no line; without a point it would not be seen.
    points: { show: true, size: 6, filter: (plot: uPlot, at: number) => alone(plot.data[at] ?? []) },
  }));
  return {
    width: element.clientWidth,
    height: HEIGHT,
    // The last time is wider than half of its place.
    padding: [8, 32, 0, 0],
    series: [{}, ...series],
    axes: [
      { ...axis, values: (_, seconds) => seconds.map(clock) },
      { ...axis, size: 56 },
    ],
    legend: { show: names.length > 1, live: false },
    cursor: { y: false },
  };
}
