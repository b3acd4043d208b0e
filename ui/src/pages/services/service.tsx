// One service: how it is, what it offers, its settings, what changed in it, and who needs it.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { remove, service, setEnabled, test } from "../../api/services";
import { useMay } from "../../api/session";
import type { Service } from "../../api/types";
import { serviceAddress } from "../../catalog/address";
import { StateBadge } from "../../catalog/badges";
import { SavedNotes } from "../../catalog/saved";
import { ActionErrors, useAction } from "../../form/action";
import { Button, DeleteButton, Facts, Header, LoadedPage, Mono, Note, PageTabs, Stack, SwitchField } from "../../kit";
import { useWords, wordOf } from "../../words";
import { useFormat } from "../../words/format";
import { Pins, UsedBy } from "./changes";
import { type Probed, ProbeNote } from "./probe";
import { ServiceSettings } from "./settings";
import { ServiceTools } from "./tools";

export default function ServicePage() {
  const { type = "", id = "" } = useParams({ strict: false }) as { type?: string; id?: string };
  const query = useQuery(service(type, id));
  return (
    <LoadedPage title={id} query={query}>
      {(data) => <ServiceTabs key={`${type} ${id}`} of={data} />}
    </LoadedPage>
  );
}

function ServiceTabs({ of }: { of: Service }) {
  const words = useWords();
  return (
    <Stack>
      <Head of={of} />
      <PageTabs
        label={of.name}
        tabs={[
          { id: "overview", label: words.services.overview, body: () => <Overview of={of} /> },
          { id: "tools", label: words.services.tools, body: () => <ServiceTools of={of} /> },
          { id: "settings", label: words.services.settings, body: () => <ServiceSettings of={of} /> },
          { id: "changes", label: words.services.changes, body: () => <Pins of={of} /> },
          { id: "used", label: words.services.used, body: () => <UsedBy of={of} /> },
        ]}
      />
    </Stack>
  );
}

function Head({ of }: { of: Service }) {
  const words = useWords();
  const may = useMay();
  const navigate = useNavigate();
  const probe = useAction(() => test(of.type, of.id));
  const [tested, setTested] = useState<Probed | null>(null);
  const enable = useAction((isOn: boolean) => setEnabled(of.type, of.id, isOn), words.done.saved);
  const gone = useAction(async () => {
    await remove(of.type, of.id);
    navigate({ to: "/ui/services" });
  }, words.done.deleted);
  const isOurs = of.source === "store" && may("make_services");
  return (
    <>
      <Header title={of.name} badge={<StateBadge state={of.health.state} />}>
        {may("manage") && (
          <Button disabled={probe.isBusy} onClick={async () => setTested((await probe.run()) ?? null)}>
            {words.act.test}
          </Button>
        )}
        <SwitchField
          label={words.field.enabled}
          checked={of.enabled}
          disabled={!isOurs || enable.isBusy}
          onChecked={(isOn) => enable.run(isOn)}
        />
        {isOurs && <DeleteButton what={of.name} detail={words.ask.deleteService} onDelete={() => gone.run()} />}
      </Header>
      <SavedNotes of={serviceAddress(of.type, of.id)} />
      <ProbeNote of={tested} />
      <ActionErrors of={probe} />
      <ActionErrors of={enable} />
      <ActionErrors of={gone} />
      {of.source !== "store" && <Note tone="warn" title={words.services.readOnly(of.source)} />}
    </>
  );
}

function Overview({ of }: { of: Service }) {
  const words = useWords();
  const format = useFormat();
  return (
    <Stack>
      {of.health.error && <Note title={of.health.error} />}
      <Facts
        of={[
          [words.field.address, <Mono key="uri">{`${of.type}://${of.id}`}</Mono>],
          [words.field.type, wordOf(words.kinds, of.type)],
          [words.field.description, of.description],
          [words.field.source, words.services.source(of.source)],
          [words.services.since, of.health.since && format.time(of.health.since)],
          [words.field.created, of.created_at && format.time(of.created_at)],
          [words.field.updated, of.updated_at && format.time(of.updated_at)],
          [words.field.version, of.version && String(of.version)],
        ]}
      />
    </Stack>
  );
}
