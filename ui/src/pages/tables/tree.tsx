// The document as a tree. Each branch is asked for when it is opened; a long one, page by page.
import { useQuery } from "@tanstack/react-query";
import { ChevronDown, ChevronRight, Dot } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { children } from "../../api/tables";
import type { Child, Table } from "../../api/types";
import { Button, cut, Loaded, visible } from "../../kit";
import css from "../../kit/show.module.css";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";
import { moveFocus } from "./tree-keys";

type Shared = { table: string; version: number; path: string; onPath: (path: string) => void };

export function Tree({ of, path, onPath }: { of: Table; path: string; onPath: (path: string) => void }) {
  const words = useWords();
  const ref = useRef<HTMLUListElement>(null);
  // The first item can be reached by Tab, all others by arrows.
  useEffect(() => {
    const first = ref.current?.querySelector<HTMLElement>('[role="treeitem"]');
    if (first && !ref.current?.querySelector('[role="treeitem"][tabindex="0"]')) first.tabIndex = 0;
  });
  const shared = { table: of.id, version: of.version, path, onPath };
  return (
    // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a list is what a tree is made of
    <ul ref={ref} role="tree" aria-label={words.tables.document} className={css.tree} onKeyDown={moveFocus}>
      <Branch {...shared} at="" />
    </ul>
  );
}

const escaped = (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1");

function Branch({ at, ...shared }: Shared & { at: string }) {
  const [pages, setPages] = useState(1);
  return Array.from({ length: pages }, (_, page) => (
    <BranchPage
      // biome-ignore lint/suspicious/noArrayIndexKey: pages are numbered
      key={page}
      {...shared}
      at={at}
      page={page + 1}
      onMore={page + 1 === pages ? () => setPages(pages + 1) : undefined}
    />
  ));
}

type PageProps = Shared & { at: string; page: number; onMore?: () => void };

function BranchPage({ at, page, onMore, ...shared }: PageProps) {
  const words = useWords();
  const query = useQuery(children(shared.table, at, page));
  return (
    <Loaded query={query}>
      {({ items, total }) => (
        <>
          {items.map((child) => (
            <Leaf key={child.key} {...shared} child={child} at={`${at}/${escaped(child.key)}`} />
          ))}
          {onMore && items.length > 0 && page * items.length < total && (
            <li role="none">
              <Button onClick={onMore}>{words.act.more}</Button>
            </li>
          )}
        </>
      )}
    </Loaded>
  );
}

/** Keys and values are somebody's: they may be long, and nothing in them turns the line round. */
const SHOWN = 200;
const short = (text: string) => visible(cut(text, SHOWN));
/** Of what is cut, as much as a hint can show. */
const hint = (text: string) => (text.length > SHOWN ? visible(cut(text, 10 * SHOWN)) : undefined);

function Leaf({ child, at, ...shared }: Shared & { child: Child; at: string }) {
  const format = useFormat();
  const { kinds, emptyKey }: { kinds: Record<string, string>; emptyKey: string } = useWords().tables;
  const [isOpen, setOpen] = useState(false);
  const canOpen = (child.type === "object" || child.type === "array") && (child.size ?? 0) > 0;
  const choose = () => {
    shared.onPath(at);
    if (canOpen) setOpen(!isOpen);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return;
    const opens = event.key === "ArrowRight" && canOpen && !isOpen;
    const closes = event.key === "ArrowLeft" && isOpen;
    if (opens || closes) {
      event.stopPropagation();
      setOpen(!isOpen);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose();
    }
  };
  const key = short(child.key) || emptyKey;
  const detail = child.preview ?? `${kinds[child.type] ?? child.type} · ${format.number(child.size ?? 0)}`;
  const Icon = !canOpen ? Dot : isOpen ? ChevronDown : ChevronRight;
  return (
    <li
      role="treeitem"
      tabIndex={-1}
      aria-label={key}
      aria-selected={shared.path === at}
      aria-expanded={canOpen ? isOpen : undefined}
      onKeyDown={onKeyDown}
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the item around it has the keys */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the item around it has the keys */}
      <span onClick={choose} data-detail={short(detail)} title={hint(child.key) ?? hint(detail)}>
        <Icon size={14} aria-hidden />
        <bdi>{key}</bdi>
      </span>
      {isOpen && (
        // biome-ignore lint/a11y/useSemanticElements: a group of a tree is no fieldset
        <ul role="group">
          <Branch {...shared} at={at} />
        </ul>
      )}
    </li>
  );
}
