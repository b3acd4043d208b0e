// How things stand beside and below one another.
import { type ReactNode, useEffect, useLayoutEffect, useRef } from "react";
import { names } from "./css";
import { takeFocusWish, wishFocus } from "./focus";
import css from "./layout.module.css";
import { cut, Name, named, visible } from "./name";

/** Texts are cut where nobody reads on. */
const TEXT = 2000;

type Box = { children: ReactNode };

export function Stack({ children, gap }: Box & { gap?: "tight" | "loose" }) {
  return <div className={names(css.stack, gap && css[gap])}>{children}</div>;
}

export function Row({ children, at }: Box & { at?: "end" | "between" | "bottom" }) {
  return <div className={names(css.row, at && css[at])}>{children}</div>;
}

export function Grow({ children }: Box) {
  return <div className={css.grow}>{children}</div>;
}

/** Two columns where there is room for them. */
export function Split({ children }: Box) {
  return <div className={css.split}>{children}</div>;
}

export function Tiles({ children }: Box) {
  return <div className={css.tiles}>{children}</div>;
}

export function Card({ children, quiet }: Box & { quiet?: boolean }) {
  return <div className={names(css.card, quiet && css.quiet)}>{children}</div>;
}

/** A named part of a page, with its heading and what can be done with it. */
export function Region({ title, children, actions }: Box & { title: string; actions?: ReactNode }) {
  return (
    <section aria-label={title} className={css.stack}>
      <div className={names(css.row, css.between)}>
        <h2>{title}</h2>
        {actions && <div className={css.row}>{actions}</div>}
      </div>
      {children}
    </section>
  );
}

/** The page's one `h1`, which gets the focus after a change of route, and what the page does. */
export function Header({ title, children, badge }: { title: string; children?: ReactNode; badge?: ReactNode }) {
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${visible(title)} · mcp-all-in-one`;
    if (takeFocusWish()) ref.current?.focus();
  }, [title]);
  // Of a page that was waited for, the heading that comes instead gets the focus of the one that goes.
  useLayoutEffect(() => {
    const heading = ref.current;
    return () => {
      if (heading && document.activeElement === heading) wishFocus();
    };
  }, []);
  return (
    <header className={css.header}>
      <div className={css.row}>
        <h1 ref={ref} tabIndex={-1}>
          <Name>{title}</Name>
        </h1>
        {badge}
      </div>
      {children && <div className={css.row}>{children}</div>}
    </header>
  );
}

export function Facts({ of }: { of: [string, ReactNode][] }) {
  const shown = of.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return (
    <dl className={css.facts}>
      {shown.map(([name, value]) => (
        <div key={name} style={{ display: "contents" }}>
          <dt>{name}</dt>
          <dd>{named(value, TEXT)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What somebody wrote about a thing of theirs: its lines are kept, and no word of it is too long for the page. */
export function Text({ children }: { children: string }) {
  return <p className={css.text}>{named(children, TEXT)}</p>;
}

/** The same in a list: a few lines of it, and the rest in the hint. */
export function Summary({ children }: { children: string | null | undefined }) {
  if (!children) return null;
  return (
    <span className={names(css.muted, css.small, css.summary)} title={visible(cut(children, TEXT))}>
      {named(children, TEXT)}
    </span>
  );
}

export function Muted({ children, small }: { children: ReactNode; small?: boolean }) {
  return <span className={names(css.muted, small && css.small)}>{named(children, TEXT)}</span>;
}

export function Mono({ children }: Box) {
  return <span className={css.mono}>{named(children, TEXT)}</span>;
}

export function Big({ children }: Box) {
  return <span className={css.big}>{children}</span>;
}

/** Text as it is, never as HTML. Scrolls, so the keyboard reaches it. */
export function Code({ children }: { children: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <pre className={css.code} tabIndex={0}>
      {visible(children)}
    </pre>
  );
}
