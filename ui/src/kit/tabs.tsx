// Tabs, whose choice stands in the address where the page wants that.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Tabs as RadixTabs } from "radix-ui";
import { type ReactNode, useState } from "react";
import { visible } from "./name";
import css from "./overlay.module.css";

export type Tab = { id: string; label: string; body: () => ReactNode };
type Props = { label: string; tabs: Tab[]; value: string; onValue: (id: string) => void };

export function Tabs({ label, tabs, value, onValue }: Props) {
  const chosen = tabs.some((tab) => tab.id === value) ? value : (tabs[0]?.id ?? "");
  return (
    <RadixTabs.Root value={chosen} onValueChange={onValue}>
      <RadixTabs.List aria-label={visible(label)} className={css.tabs}>
        {tabs.map((tab) => (
          <RadixTabs.Trigger key={tab.id} value={tab.id} className={css.tab}>
            {tab.label}
          </RadixTabs.Trigger>
        ))}
      </RadixTabs.List>
      {tabs.map((tab) => (
        <RadixTabs.Content key={tab.id} value={tab.id} className={css.panel}>
          {tab.id === chosen && tab.body()}
        </RadixTabs.Content>
      ))}
    </RadixTabs.Root>
  );
}

/** Tabs of a page: `?tab=` in the address. */
export function PageTabs({ label, tabs }: { label: string; tabs: Tab[] }) {
  const search = useSearch({ strict: false }) as { tab?: string };
  const navigate = useNavigate();
  const choose = (tab: string) =>
    navigate({ to: ".", search: ((old: object) => ({ ...old, tab })) as never, replace: true });
  return <Tabs label={label} tabs={tabs} value={search.tab ?? ""} onValue={choose} />;
}

/** Tabs of a part of a page, which nobody needs a link to. */
export function LocalTabs({ label, tabs, first }: { label: string; tabs: Tab[]; first?: string }) {
  const [value, setValue] = useState(first ?? tabs[0]?.id ?? "");
  return <Tabs label={label} tabs={tabs} value={value} onValue={setValue} />;
}
