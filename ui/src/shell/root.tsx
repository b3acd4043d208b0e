// Who is signed in sees the shell and a page in it, everybody else the way in.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { setTenant, whenSignedOut } from "../api/client";
import { listen } from "../api/events";
import { me, signIn } from "../api/session";
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
  const [isLost, setLost] = useState(false);
  const link = useOneTimeLink();
  // Whoever comes with a link is nobody before it: asking would only be refused.
  const who = useQuery({ ...me, enabled: link !== "trying" });
  useEffect(
    () =>
      whenSignedOut(() => {
        // Whoever has not come in yet has nothing to lose.
        if (!queries.getQueryData(me.queryKey)) return;
        setLost(true);
        tellSignedOut();
      }),
    [queries],
  );
  const isIn = !!who.data && !isLost;
  useEffect(() => {
    if (!isIn) return;
    prefetchPages();
    return listen(queries);
  }, [isIn, queries]);
  const enter = async () => {
    const before = who.data?.id;
    const { data } = await who.refetch();
    if (before && data?.id !== before) {
      forgetDrafts();
      location.reload();
    }
    setLost(false);
    await queries.invalidateQueries();
  };
  const isOut = who.data === null || isLost;
  if (link === "trying" || who.isPending) return <Alone />;
  // Whoever was in stays in front of what they typed, whatever becomes of asking who they are.
  if (who.error && !who.data) return <Alone error={who.error} onRetry={() => who.refetch()} />;
  return (
    <>
      {isOut && <Login onIn={enter} isAgain={isLost} isLinkSpent={link === "spent"} />}
      {/* What was typed stays where it is while somebody signs in again. */}
      {who.data && (
        <div className={isLost ? css.away : undefined}>
          <Frame me={who.data} />
        </div>
      )}
      <Toasts />
    </>
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
      .then((who) => queries.setQueryData(me.queryKey, who))
      .then(() => setState("none"))
      .catch(() => setState("spent"));
  }, [queries]);
  return state;
}
