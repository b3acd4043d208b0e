// Who is signed in sees the shell and a page in it, everybody else the way in.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { setTenant, whenSignedOut, whoeverIsHere } from "../api/client";
import { listen } from "../api/events";
import { enterAs, isSame, me, signIn, whenAnotherTab } from "../api/session";
import type { Me } from "../api/types";
import { forgetDrafts } from "../form/kept";
import { tellSignedOut } from "../form/secrets";
import { ErrorNote, Header, Skeleton, Stack, Toasts } from "../kit";
import css from "../kit/shell.module.css";
import { Frame } from "./frame";
import { Login } from "./login";
import { prefetchPages } from "./prefetch";

/** The one-time code of a printed link stands behind `#`, so that no server's log has it. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

export function Root() {
  const queries = useQueryClient();
  const link = useOneTimeLink();
  // Whoever comes with a link is nobody before it: asking would only be refused.
  const who = useQuery({ ...me, enabled: link !== "trying" });
  const { gone, setGone } = useGone();
  const isIn = !!who.data && !gone;
  useEffect(() => {
    if (!isIn) return;
    prefetchPages();
    return listen(queries);
  }, [isIn, queries]);
  const enter = async (now: Me) => {
    // What was typed is not somebody else's.
    if (who.data && !isSame(who.data, now)) return startAnew();
    enterAs(now);
    queries.setQueryData(me.queryKey, now);
    setGone(null);
    await queries.invalidateQueries();
  };
  useAnotherTab(who.data, enter, setGone);
  const isOut = who.data === null || !!gone;
  if (link === "trying" || who.isPending) return <Alone />;
  // Whoever was in stays in front of what they typed, whatever becomes of asking who they are.
  if (who.error && !who.data) return <Alone error={who.error} onRetry={() => who.refetch()} />;
  return (
    <>
      {isOut && <Login onIn={enter} isAgain={!!gone} isLinkSpent={link === "spent"} other={otherOf(gone)} />}
      {/* What was typed stays where it is while somebody signs in again. */}
      {who.data && (
        <div className={gone ? css.away : undefined}>
          <Frame me={who.data} />
        </div>
      )}
      <Toasts />
    </>
  );
}

/** Who is in instead of whoever the page was drawn for: nobody, or somebody else. */
type Gone = null | "out" | Me;

const otherOf = (gone: Gone) => (gone && gone !== "out" ? gone : null);

function startAnew(): void {
  forgetDrafts();
  location.reload();
}

/** Whether the page has lost whoever it was drawn for: the server says so with any answer. */
function useGone() {
  const queries = useQueryClient();
  const [gone, setGone] = useState<Gone>(null);
  useEffect(
    () =>
      whenSignedOut(async (why) => {
        const mine = queries.getQueryData(me.queryKey);
        // Whoever has not come in yet has nothing to lose.
        if (!mine) return;
        setGone((old) => old ?? "out");
        tellSignedOut();
        const now = why === "other" ? await whoeverIsHere<Me>() : null;
        if (now) setGone(isSame(mine, now) ? null : now);
      }),
    [queries],
  );
  return { gone, setGone };
}

/** What is done in another tab is done to the browser: this one does not wait for the server to say so. */
function useAnotherTab(mine: Me | null | undefined, enter: (now: Me) => void, setGone: (gone: Gone) => void) {
  useEffect(() =>
    whenAnotherTab((now) => {
      if (!mine || (now && isSame(mine, now))) return now ? enter(now) : undefined;
      setGone(now ?? "out");
      tellSignedOut();
    }),
  );
}

/** Before anybody is known: the product's name, and whether it waits or failed. */
function Alone({ error, onRetry }: { error?: Error; onRetry?: () => void }) {
  return (
    <main className={css.login}>
      <div>
        <Stack>
          <Header title="mcp-all-in-one" />
          {error ? <ErrorNote error={error} onRetry={onRetry} /> : <Skeleton />}
        </Stack>
      </div>
    </main>
  );
}

let code = takeCode();

function useOneTimeLink(): "none" | "trying" | "spent" {
  const queries = useQueryClient();
  const [state, setState] = useState<"none" | "trying" | "spent">(code ? "trying" : "none");
  useEffect(() => {
    if (!code) return;
    const once = code;
    code = null;
    setTenant("");
    signIn({ code: once })
      .then((who) => {
        enterAs(who);
        queries.setQueryData(me.queryKey, who);
      })
      .then(() => setState("none"))
      .catch(() => setState("spent"));
  }, [queries]);
  return state;
}
