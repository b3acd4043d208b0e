// Editors whose text cannot be read: whoever sends a form then would send what stood there before.
import { createContext, type ReactNode, type RefObject, use, useEffect, useState } from "react";

type Broken = Map<object, () => void>;

/** Those of the page; what is not shown is not among them. */
const Scope = createContext<Broken>(new Map());

/** A form of its own on a page with several of them. */
export function Apart({ children }: { children: ReactNode }) {
  const [broken] = useState<Broken>(() => new Map());
  return <Scope value={broken}>{children}</Scope>;
}

/** Tells that what is typed there cannot be read, and where its field is. */
export function useBroken(isBroken: boolean, host: RefObject<HTMLElement | null>, refuse: () => void): void {
  const scope = use(Scope);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only whether it is broken counts
  useEffect(() => {
    if (!isBroken) return;
    const mark = {};
    scope.set(mark, () => {
      refuse();
      host.current?.querySelector<HTMLElement>("[role=textbox]")?.focus();
    });
    return () => void scope.delete(mark);
  }, [isBroken, scope]);
}

/** Whether all that was typed can be sent. If not, the first field that cannot be read gets the focus and says why. */
export function useIsWhole(): () => boolean {
  const scope = use(Scope);
  return () => {
    const [refuse] = scope.values();
    refuse?.();
    return refuse === undefined;
  };
}
