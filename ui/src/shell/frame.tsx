// Banner, navigation and the page: the same around everything.
import { useRouterState } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useMay } from "../api/session";
import type { Me } from "../api/types";
import { Link } from "../kit";
import css from "../kit/shell.module.css";
import { nav } from "../routes";
import { useWords } from "../words";
import { Banner } from "./banner";
import { Help } from "./help";
import { useShortcuts } from "./keys";
import { Page } from "./page";
import { Palette } from "./palette";

export function Frame({ me }: { me: Me }) {
  const words = useWords();
  const [isNavOpen, setNavOpen] = useState(false);
  const [isSearching, setSearching] = useState(false);
  const [isHelping, setHelping] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  useShortcuts({ onSearch: () => setSearching(true), onHelp: () => setHelping(true) });
  // biome-ignore lint/correctness/useExhaustiveDependencies: closes whenever the page changes
  useEffect(() => setNavOpen(false), [path]);
  return (
    <div className={css.frame}>
      {/* biome-ignore lint/a11y/useValidAnchor: it goes to a part of the page, and the address keeps its filters */}
      <a href="#content" className={css.skip} onClick={skip}>
        {words.shell.skip}
      </a>
      <Banner
        me={me}
        isNavOpen={isNavOpen}
        onNav={() => setNavOpen((open) => !open)}
        onSearch={() => setSearching(true)}
      />
      <Nav path={path} isOpen={isNavOpen} />
      <main id="content" tabIndex={-1} className={css.main}>
        <Page />
      </main>
      <Palette open={isSearching} onClose={() => setSearching(false)} />
      <Help open={isHelping} onClose={() => setHelping(false)} />
    </div>
  );
}

/** The address keeps its tab and filters. */
function skip(event: React.MouseEvent) {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function Nav({ path, isOpen }: { path: string; isOpen: boolean }) {
  const words = useWords();
  const may = useMay();
  const shown = nav.filter((entry) => !entry.may || may(entry.may));
  const isBelow = (to: string) => (to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`));
  return (
    <nav aria-label={words.nav.main} className={css.nav} data-open={isOpen}>
      <ul>
        {shown.map(({ path: to, word, icon: Icon, also = [] }) => (
          <li key={to}>
            <NavLink to={to} isHere={[to, ...also].some(isBelow)}>
              <Icon size={16} aria-hidden />
              {words.nav[word]}
            </NavLink>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function NavLink({ to, isHere, children }: { to: string; isHere: boolean; children: React.ReactNode }) {
  return (
    <Link to={to} {...{ "aria-current": isHere ? "page" : undefined }}>
      {children}
    </Link>
  );
}
