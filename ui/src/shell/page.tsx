// The page of the address, or what stands for it while its code comes.
import { Outlet } from "@tanstack/react-router";
import { Suspense } from "react";
import { Skeleton } from "../kit";

export function Page() {
  return (
    <Suspense fallback={<Skeleton />}>
      <Outlet />
    </Suspense>
  );
}
