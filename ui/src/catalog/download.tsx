// A link to a file of the server's: fetched as everything else is, so that it belongs to whom the page was drawn for.
import type { MouseEvent, ReactNode } from "react";
import { send } from "../api/client";
import { ActionErrors, useAction } from "../form/action";
import control from "../kit/control.module.css";

export function Download({ href, name, children }: { href: string; name: string; children: ReactNode }) {
  const fetching = useAction(async () => save(await (await send(href, {})).blob(), name));
  const get = (event: MouseEvent) => {
    event.preventDefault();
    if (!fetching.isBusy) void fetching.run();
  };
  return (
    <>
      <a className={control.button} href={href} download={name} aria-busy={fetching.isBusy || undefined} onClick={get}>
        {children}
      </a>
      <ActionErrors of={fetching} />
    </>
  );
}

function save(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
