// The page of the address, or what stands for it while its code comes.
import { Outlet, useRouterState } from "@tanstack/react-router";
import { Suspense } from "react";
import { useMay } from "../api/session";
import { Header, LinkButton, Skeleton, Stack } from "../kit";
import { nav, pages } from "../routes";
import { useWords } from "../words";

export function Page() {
  const may = useMay();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const needed = pages.find((page) => page.path === path)?.may;
  if (needed && !may(needed)) return <NotAllowed />;
  return (
    <Suspense fallback={<Coming />}>
      <Outlet />
    </Suspense>
  );
}

function NotAllowed() {
  const words = useWords();
  return (
    <Stack>
      <Header title={words.missing.notAllowed} />
      <p>{words.missing.notAllowedDetail}</p>
      <div>
        <LinkButton to="/">{words.nav.home}</LinkButton>
      </div>
    </Stack>
  );
}

/** A page has its heading from the beginning: of the part of the console that it belongs to. */
function Coming() {
  const words = useWords();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const entry = nav.findLast(({ path: to, also = [] }) => [to, ...also].some((start) => path.startsWith(start)));
  return (
    <Stack>
      <Header title={words.nav[entry?.word ?? "home"]} />
      <Skeleton />
    </Stack>
  );
}
