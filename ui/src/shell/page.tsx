// The page of the address, or what stands for it while its code comes.
import { Outlet, useRouterState } from "@tanstack/react-router";
import { Suspense } from "react";
import { Header, Skeleton, Stack } from "../kit";
import { nav } from "../routes";
import { useWords } from "../words";

export function Page() {
  return (
    <Suspense fallback={<Coming />}>
      <Outlet />
    </Suspense>
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
