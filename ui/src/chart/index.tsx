// A figure of lines over time, with the same numbers as a table for those who want them.
import { Suspense } from "react";
import { Skeleton } from "../kit";
import { lazily } from "../kit/lazily";
import css from "../kit/show.module.css";

export type Line = { name: string; values: (number | null)[] };
export type ChartProps = { label: string; times: number[]; lines: Line[] };

export const loadPlot = () => import("./plot");
const LazyPlot = lazily(loadPlot);

export function Chart(props: ChartProps) {
  return (
    <figure aria-label={props.label} className={css.figure}>
      <figcaption>{props.label}</figcaption>
      <Suspense fallback={<Skeleton lines={4} />}>
        <LazyPlot {...props} />
      </Suspense>
    </figure>
  );
}
