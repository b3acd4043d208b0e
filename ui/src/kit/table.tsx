// Tables: plain while they are short, virtual when they are long, cards where it is narrow.
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useState } from "react";
import { names } from "./css";
import { named } from "./name";
import { useNarrow } from "./narrow";
import css from "./show.module.css";

export type Column<T> = { id: string; label: string; cell: (row: T) => ReactNode; kind?: "number" | "nowrap" | "wide" };
type Props<T> = { label: string; columns: Column<T>[]; rows: T[]; id: (row: T) => string; tall?: boolean };

/** So many rows are drawn as they are; more are drawn as they are scrolled to. */
const PLAIN_ROWS = 60;
const ROW_HEIGHT = 37;
/** A card has a line per column, and a gap below it, as the style sheet says. */
const CARD_LINE_HEIGHT = 27;
const CARD_GAP = 8;
const OVERSCAN = 12;
/** A cell holds no more of a text than this. */
const CELL = 400;

export function Table<T>(props: Props<T>) {
  // A state and no ref: rows are drawn into what scrolls, so that they wait for it.
  const [scroller, setScroller] = useState<HTMLDivElement | null>(null);
  const isLong = props.rows.length > PLAIN_ROWS;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <div ref={setScroller} tabIndex={0} className={names(css.scroll, css.cards, (isLong || props.tall) && css.tall)}>
      {/* Roles are said because cards are no tables to a browser. */}
      {/* biome-ignore lint/a11y/noRedundantRoles: see above */}
      <table role="table" aria-label={props.label} aria-rowcount={props.rows.length + 1} className={css.table}>
        <Head columns={props.columns} />
        {isLong ? <LongBody {...props} scroller={scroller} /> : <Body {...props} rows={props.rows} first={0} />}
      </table>
    </div>
  );
}

function Head<T>({ columns }: { columns: Column<T>[] }) {
  return (
    // biome-ignore lint/a11y/noRedundantRoles: cards are no tables to a browser
    <thead role="rowgroup">
      {/* biome-ignore lint/a11y/noRedundantRoles: cards are no tables to a browser */}
      <tr role="row">
        {columns.map((column) => (
          // biome-ignore lint/a11y/noRedundantRoles: cards are no tables to a browser
          <th key={column.id} role="columnheader" scope="col" className={column.kind && css[column.kind]}>
            {column.label}
          </th>
        ))}
      </tr>
    </thead>
  );
}

type BodyProps<T> = Props<T> & {
  first: number;
  before?: number;
  after?: number;
  measure?: (row: Element | null) => void;
};

function Body<T>({ columns, rows, id, first, before, after, measure }: BodyProps<T>) {
  return (
    // biome-ignore lint/a11y/noRedundantRoles: cards are no tables to a browser
    <tbody role="rowgroup">
      {!!before && <tr aria-hidden style={{ height: before }} />}
      {rows.map((row, at) => (
        // biome-ignore lint/a11y/noRedundantRoles: cards are no tables to a browser
        <tr key={id(row)} role="row" ref={measure} data-index={first + at} aria-rowindex={first + at + 2}>
          {columns.map((column) => (
            // biome-ignore lint/a11y/noRedundantRoles: cards are no tables to a browser
            <td key={column.id} role="cell" data-label={column.label} className={column.kind && css[column.kind]}>
              {wrapped(column.cell(row))}
            </td>
          ))}
        </tr>
      ))}
      {!!after && <tr aria-hidden style={{ height: after }} />}
    </tbody>
  );
}

/** One box, so that a card has its label beside it; nothing stays nothing, and has no line there. */
function wrapped(content: ReactNode): ReactNode {
  const isNothing = content === null || content === undefined || content === false || content === "";
  return isNothing ? null : <div>{named(content, CELL)}</div>;
}

function LongBody<T>({ scroller, ...props }: Props<T> & { scroller: HTMLDivElement | null }) {
  const isNarrow = useNarrow();
  const virtual = useVirtualizer({
    count: props.rows.length,
    getScrollElement: () => scroller,
    estimateSize: () => (isNarrow ? props.columns.length * CARD_LINE_HEIGHT : ROW_HEIGHT),
    gap: isNarrow ? CARD_GAP : 0,
    overscan: isNarrow ? OVERSCAN / 2 : OVERSCAN,
  });
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1);
  return (
    <Body
      {...props}
      rows={props.rows.slice(first, (last?.index ?? -1) + 1)}
      first={first}
      before={items[0]?.start ?? 0}
      after={last ? virtual.getTotalSize() - last.end : 0}
      measure={virtual.measureElement}
    />
  );
}
