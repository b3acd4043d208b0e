// The bar on top: search, tenant, theme, language, account, and whether what is shown is live.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { CircleUser, Languages, Menu as MenuIcon, Moon, Plus, Radio, Search, WifiOff } from "lucide-react";
import { useEffect, useState } from "react";
import { base } from "../api/base";
import { currentTenant, setTenant } from "../api/client";
import { useLive } from "../api/events";
import { tenants } from "../api/people";
import { me as meQuery, signOut, useMay } from "../api/session";
import type { Me, Tenant } from "../api/types";
import { forgetDrafts } from "../form/kept";
import { Button, IconButton, Link, Menu, MenuItem, MenuNote, MenuRadio } from "../kit";
import control from "../kit/control.module.css";
import css from "../kit/shell.module.css";
import { type Language, languages, setLanguage, useLanguage, useWords } from "../words";
import { prefer, type Theme, usePreferences } from "./preferences";

type Props = { me: Me; isNavOpen: boolean; onNav: () => void; onSearch: () => void };

export function Banner({ me, isNavOpen, onNav, onSearch }: Props) {
  const words = useWords();
  const may = useMay();
  return (
    <header className={css.banner}>
      <IconButton
        className={css.menu}
        label={words.shell.menu}
        aria-expanded={isNavOpen}
        icon={<MenuIcon size={18} />}
        onClick={onNav}
      />
      <Link to="/" className={css.brand}>
        <span className={css.mark}>
          <Plus size={14} aria-hidden />
        </span>
        mcp-all-in-one
      </Link>
      <Button
        className={css.search}
        data-key="Ctrl K"
        aria-label={words.shell.search}
        icon={<Search size={14} aria-hidden />}
        onClick={onSearch}
      >
        <span>{words.shell.search}</span>
      </Button>
      <span className={css.gap} />
      <Live />
      {may("administer") && <TenantChoice own={me.tenant} />}
      <ThemeMenu />
      <LanguageMenu />
      <AccountMenu me={me} />
    </header>
  );
}

function Live() {
  const words = useWords();
  const isLive = useLive();
  const word = isLive ? words.shell.live : words.shell.reconnecting;
  return (
    <span role="status" aria-label={word} className={css.live}>
      {isLive ? <Radio size={14} aria-hidden /> : <WifiOff size={14} aria-hidden />}
      <span>{word}</span>
    </span>
  );
}

function TenantChoice({ own }: { own: string }) {
  const words = useWords();
  const queries = useQueryClient();
  const { data } = useQuery(tenants);
  const [chosen, setChosen] = useState(currentTenant() || own);
  const choose = (id: string) => {
    setChosen(id);
    setTenant(id === own ? "" : id);
    queries.resetQueries({ predicate: (query) => query.queryKey[0] !== "me" && query.queryKey[0] !== "tenants" });
  };
  const isGone = data && !data.some(({ id }) => id === chosen);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a tenant that is not there any more is left once
  useEffect(() => {
    if (isGone) choose(own);
  }, [isGone, own]);
  const all = data ?? [{ id: chosen, name: chosen }];
  return (
    <select
      aria-label={words.shell.tenant}
      className={`${control.input} ${css.tenant}`}
      value={chosen}
      onChange={(event) => choose(event.target.value)}
    >
      {all.map((tenant) => (
        <option key={tenant.id} value={tenant.id}>
          {named(tenant)}
        </option>
      ))}
    </select>
  );
}

/** Names are for people, and two tenants may have the same one. */
const named = ({ id, name }: Pick<Tenant, "id" | "name">) =>
  name && name.toLowerCase() !== id.toLowerCase() ? `${name} (${id})` : id;

function ThemeMenu() {
  const words = useWords();
  const { theme } = usePreferences();
  const options = (["system", "light", "dark"] as const).map((value) => ({ value, label: words.shell[value] }));
  return (
    <Menu label={words.shell.theme} icon={<Moon size={16} />}>
      <MenuRadio value={theme} options={options} onValue={(value) => prefer({ theme: value as Theme })} />
    </Menu>
  );
}

function LanguageMenu() {
  const words = useWords();
  const language = useLanguage();
  const options = Object.entries(languages).map(([value, { language: label }]) => ({ value, label }));
  return (
    <Menu label={words.shell.language} icon={<Languages size={16} />}>
      <MenuRadio value={language} options={options} onValue={(value) => setLanguage(value as Language)} />
    </Menu>
  );
}

function AccountMenu({ me }: { me: Me }) {
  const words = useWords();
  const queries = useQueryClient();
  const leave = async () => {
    await signOut().catch(() => undefined);
    queries.clear();
    queries.setQueryData(meQuery.queryKey, null);
    forgetDrafts();
    location.assign(`${base}/`);
  };
  return (
    <Menu label={words.shell.account} icon={<CircleUser size={16} />}>
      <MenuNote>
        {me.name} · {me.role} · {me.tenant}
      </MenuNote>
      <MenuItem onSelect={leave}>{words.shell.signOut}</MenuItem>
    </Menu>
  );
}
