// How a page says that it waits, that there is nothing, or that something went wrong.
import { CircleCheck, CircleDashed, CircleX, LoaderCircle, OctagonAlert, TriangleAlert } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useWords } from "../words";
import { Button } from "./button";
import { names } from "./css";
import { Header, Muted } from "./layout";
import layout from "./layout.module.css";
import { named } from "./name";
import css from "./show.module.css";

export type Tone = "ok" | "warn" | "fail" | "idle" | "busy";
const icons = { ok: CircleCheck, warn: TriangleAlert, fail: CircleX, idle: CircleDashed, busy: LoaderCircle };

/** A state: picture, word and colour together, so that none of them is needed alone. */
export function Badge({ tone, children }: { tone: Tone; children: ReactNode }) {
  const Icon = icons[tone];
  return (
    <span className={names(css.badge, css[tone])}>
      <Icon size={14} aria-hidden />
      {children}
    </span>
  );
}

type NoteProps = { tone?: "ok" | "warn" | "fail"; title: string; children?: ReactNode; live?: "alert" | "status" };

/** No message is longer than anybody reads. */
const TEXT = 2000;

export function Note({ tone = "fail", title, children, live }: NoteProps) {
  const Icon = tone === "ok" ? CircleCheck : tone === "warn" ? TriangleAlert : OctagonAlert;
  return (
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: it has a name only where it has a role
    <div className={names(css.alert, css[tone])} role={live} aria-label={live ? title : undefined}>
      <Icon size={16} aria-hidden />
      <div className={names(layout.stack, layout.tight)}>
        <strong>{named(title, TEXT)}</strong>
        {children}
      </div>
    </div>
  );
}

type Failure = { message: string; code?: string; requestId?: string };

/** What the server said, with what one needs to ask somebody about it. */
export function ErrorNote({ error, onRetry }: { error: Failure; onRetry?: () => void }) {
  const words = useWords();
  // What the server did not say is said here.
  const own = { NETWORK: words.state.network, NO_ANSWER: words.state.noAnswer, SIGNED_OUT: words.state.signedOut }[
    error.code ?? ""
  ];
  return (
    <Note title={own ?? error.message} live="alert">
      {(error.code || error.requestId) && (
        <Muted small>
          {error.code && !own && <>{error.code} </>}
          {error.requestId && words.state.request(error.requestId)}
        </Muted>
      )}
      {onRetry && (
        <div>
          <Button onClick={onRetry}>{words.act.tryAgain}</Button>
        </div>
      )}
    </Note>
  );
}

/** Grey lines, once waiting takes long enough to be seen; that something is waited for is said at once. */
export function Skeleton({ lines = 5 }: { lines?: number }) {
  const words = useWords();
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 150);
    return () => clearTimeout(timer);
  }, []);
  if (!shown) return <div aria-busy="true" />;
  return (
    <div className={layout.stack} aria-busy="true">
      <span className="hidden">{words.state.loading}</span>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all lines are alike
        <div key={line} className={css.skeleton} style={{ width: `${90 - ((line * 23) % 50)}%` }} />
      ))}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={css.empty}>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

type Query<T> = { data: T | undefined; error: unknown; refetch: () => unknown };

/** Waiting, failed, or there: the three states of everything that is asked for. */
export function Loaded<T>({ query, children }: { query: Query<T>; children: (data: T) => ReactNode }) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <ErrorNote error={query.error as unknown as Failure} onRetry={() => query.refetch()} />;
  return <Skeleton />;
}

/** The same for a whole page, which has its one heading while it waits and when nothing came, too. */
export function LoadedPage<T>({ title, ...of }: { title: string; query: Query<T>; children: (data: T) => ReactNode }) {
  if (of.query.data !== undefined) return of.children(of.query.data);
  return (
    <div className={layout.stack}>
      <Header title={title} />
      <Loaded {...of} />
    </div>
  );
}

export function Problems({ title, all }: { title: string; all: { path: string; message: string }[] }) {
  return (
    <Note title={title} live="alert">
      <ul>
        {all.map((problem) => (
          <li key={`${problem.path} ${problem.message}`}>
            {problem.path && <code>{problem.path}</code>} {problem.message}
          </li>
        ))}
      </ul>
    </Note>
  );
}
