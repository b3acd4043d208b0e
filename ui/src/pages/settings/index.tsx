// Settings: how the server is, what it thinks of itself, and what one person likes.
import { useQuery } from "@tanstack/react-query";
import { base } from "../../api/base";
import { catalog } from "../../api/catalog";
import { doctor } from "../../api/people";
import { useMay } from "../../api/session";
import type { CatalogService, DoctorCheck } from "../../api/types";
import { serviceAddress } from "../../catalog/address";
import { healthOf, StateBadge } from "../../catalog/badges";
import {
  type Column,
  Empty,
  ErrorNote,
  Facts,
  Header,
  Link,
  Loaded,
  PageTabs,
  SelectField,
  Stack,
  SwitchField,
  Table,
} from "../../kit";
import { prefer, type Theme, usePreferences } from "../../shell/preferences";
import { type Language, languages, setLanguage, useLanguage, useWords } from "../../words";
import { useFormat } from "../../words/format";
import { OwnPassword } from "./password";

export default function Settings() {
  const words = useWords();
  const may = useMay();
  const checks = { id: "doctor", label: words.settings.doctor, body: () => <Doctor /> };
  return (
    <Stack>
      <Header title={words.nav.settings} />
      <PageTabs
        label={words.nav.settings}
        tabs={[
          { id: "health", label: words.settings.health, body: () => <Health /> },
          ...(may("manage") ? [checks] : []),
          { id: "about", label: words.settings.about, body: () => <About /> },
          { id: "preferences", label: words.settings.preferences, body: () => <Preferences /> },
        ]}
      />
    </Stack>
  );
}

function Health() {
  const words = useWords();
  const format = useFormat();
  const all = useQuery(catalog);
  const columns: Column<CatalogService>[] = [
    {
      id: "name",
      label: words.field.name,
      cell: (one) => <Link to={serviceAddress(one.type, one.id)}>{one.name}</Link>,
    },
    { id: "health", label: words.field.health, cell: (one) => <StateBadge state={healthOf(one.health)} /> },
    {
      id: "since",
      label: words.services.since,
      kind: "nowrap",
      cell: (one) => one.health?.since && format.time(one.health.since),
    },
    { id: "error", label: words.field.message, cell: (one) => one.health?.error },
  ];
  return (
    <Loaded query={all}>
      {({ services }) =>
        services.length > 0 ? (
          <Table
            label={words.settings.health}
            columns={columns}
            rows={services}
            id={(one) => `${one.type} ${one.id}`}
          />
        ) : (
          <Empty title={words.things.services.none} />
        )
      }
    </Loaded>
  );
}

/** What was looked at, and its name where there are several. */
function partsOf(id: string): [string, string] {
  const [, word = id, name = ""] = /^(search index|\S+?)(?: of)?(?: (.*))?$/.exec(id) ?? [];
  return [word, name];
}

function Doctor() {
  const words = useWords();
  const query = useQuery(doctor);
  const known = words.settings.checks as Record<string, string>;
  // "service api/shop" is a known word with a name.
  const nameOf = (id: string) => {
    const [word, name] = partsOf(id);
    return [known[word] ?? word, name].filter(Boolean).join(" ");
  };
  const isEnglish = useLanguage() === "en";
  const said = words.settings.said as Record<string, string>;
  const doing = words.settings.doing as Record<string, string>;
  // Sentences of ours are known by what they are about; what others said is shown as they said it.
  const found = ({ id, state, detail }: DoctorCheck) => {
    const text = isEnglish ? undefined : said[`${partsOf(id)[0]} ${state}`];
    const numbers = detail.match(/\d+/g) ?? [];
    return text?.replace(/\{(\d)\}/g, (_, at) => numbers[at] ?? "") ?? detail;
  };
  const columns: Column<DoctorCheck>[] = [
    { id: "id", label: words.settings.check, cell: (check) => nameOf(check.id) },
    { id: "state", label: words.field.status, cell: (check) => <StateBadge state={check.state} /> },
    { id: "detail", label: words.settings.found, cell: found },
    {
      id: "advice",
      label: words.settings.advice,
      cell: ({ id, advice }) => advice && ((!isEnglish && doing[partsOf(id)[0]]) || advice),
    },
  ];
  return (
    <Loaded query={query}>
      {({ checks }) => <Table label={words.settings.doctor} columns={columns} rows={checks} id={(check) => check.id} />}
    </Loaded>
  );
}

function About() {
  const words = useWords();
  const may = useMay();
  const query = useQuery({ ...doctor, enabled: may("manage") });
  return (
    <Stack>
      <p>{words.settings.what}</p>
      {query.data && (
        <Facts
          of={[
            [words.field.version, query.data.version],
            [words.settings.database, query.data.database],
          ]}
        />
      )}
      {query.error && <ErrorNote error={query.error} onRetry={() => query.refetch()} />}
      <p>
        <a href={`${base}/api/docs`}>{words.settings.docs}</a>
      </p>
    </Stack>
  );
}

function Preferences() {
  const words = useWords();
  const { theme, keys } = usePreferences();
  const language = useLanguage();
  const themes = (["system", "light", "dark"] as const).map((value) => ({ value, label: words.shell[value] }));
  const known = Object.entries(languages).map(([value, { language: label }]) => ({ value, label }));
  return (
    <Stack>
      <SelectField
        label={words.shell.theme}
        value={theme}
        options={themes}
        onValue={(value) => prefer({ theme: value as Theme })}
      />
      <SelectField
        label={words.shell.language}
        value={language}
        options={known}
        onValue={(value) => setLanguage(value as Language)}
      />
      <SwitchField label={words.settings.singleKeys} checked={keys} onChecked={(on) => prefer({ keys: on })} />
      <OwnPassword />
    </Stack>
  );
}
