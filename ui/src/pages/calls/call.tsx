// The inspector: why a call ended as it did, what was sent, what came back, and how long each step took.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { call } from "../../api/calls";
import { catalog, partsOf } from "../../api/catalog";
import { writeJson } from "../../api/json";
import type { Call, Inspection, Step } from "../../api/types";
import { serviceAddress } from "../../catalog/address";
import { adviceFor, blamed, RawAnswer, Request, Timing } from "../../catalog/answer";
import { StateBadge } from "../../catalog/badges";
import {
  Code,
  CopyButton,
  Facts,
  Header,
  LinkButton,
  LoadedPage,
  Mono,
  Muted,
  Note,
  Region,
  Split,
  Stack,
} from "../../kit";
import { useLanguage, useWords } from "../../words";
import { useFormat } from "../../words/format";

type Inspected = Call & { inspection?: Inspection | null };

export default function CallPage() {
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  const words = useWords();
  return (
    <LoadedPage title={words.nav.calls} query={useQuery(call(id))}>
      {(data) => <Inspector of={data} />}
    </LoadedPage>
  );
}

function Inspector({ of }: { of: Inspected }) {
  const words = useWords();
  return (
    <Stack gap="loose">
      <Header title={of.tool} badge={<StateBadge state={of.status} />}>
        <Actions of={of} />
      </Header>
      <Cause of={of} />
      <Region title={words.calls.steps}>
        {of.inspection?.steps?.length ? (
          <Timing
            label={words.calls.steps}
            steps={saidOnce(blamed(of.inspection.steps, of.status === "ok" ? null : (of.message ?? of.code)), of)}
          />
        ) : (
          <Muted>{words.calls.notKept}</Muted>
        )}
      </Region>
      <Split>
        <Request inspection={of.inspection} />
        <RawAnswer inspection={of.inspection} />
      </Split>
      <Split>
        <Region title={words.trying.args}>
          <Code>{writeJson(of.arguments ?? {}, 2)}</Code>
        </Region>
        <Details of={of} />
      </Split>
    </Stack>
  );
}

/** The message stands above the steps; the one that failed has its code. */
function saidOnce(steps: Step[], { code, message }: Call): Step[] {
  return steps.map((step) => (step.error && message?.includes(step.error) ? { ...step, error: code } : step));
}

/** Tools of the tenant's own, and what the server has of itself. */
const HAVE_NO_PAGE = ["tool", "flows"];

function Actions({ of }: { of: Inspected }) {
  const words = useWords();
  const known = useQuery(catalog);
  // A call that was refused before it led anywhere has only what was called.
  const asked = of.uri ?? (of.tool.includes("://") ? of.tool : "");
  const { type, service } = partsOf(asked);
  const isThere = known.data?.services.some((one) => one.type === type && one.id === service);
  // The address in the audit is where the call led to. A Tool of the tenant's own is called as itself, with its own
  // arguments, which its target may call otherwise.
  const own = known.data?.tools.find((tool) => tool.id && tool.name === of.tool);
  const uri = own?.uri ?? asked;
  const args = writeJson(of.arguments ?? {});
  return (
    <>
      {(of.service || isThere) && type && !HAVE_NO_PAGE.includes(type) && (
        <LinkButton to={serviceAddress(type, service)}>
          {type === "flow" ? words.flows.openFlow : words.calls.openService}
        </LinkButton>
      )}
      {uri && !known.isPending && (
        <LinkButton to="/ui/try" search={{ uri, args }} look="primary">
          {words.calls.runAgain}
        </LinkButton>
      )}
      <CopyButton text={writeJson(of, 2)} label={words.calls.copyReport} />
    </>
  );
}

function Cause({ of }: { of: Inspected }) {
  const words = useWords();
  // The server's sentences are English; whoever reads another language is told by the code, too.
  const known = words.causes as Record<string, string>;
  const own = useLanguage() === "en" ? null : (known[of.code ?? ""] ?? words.causes.OTHER);
  const isFine = of.status === "ok";
  // What went wrong is said once; behind it stands what to do.
  const cause = known[of.code ?? ""] ?? words.causes.OTHER;
  const advice = adviceFor(words, of.code);
  const rest = advice.startsWith(cause) ? advice.slice(cause.length).trim() : advice;
  return (
    <Region title={words.calls.cause}>
      {isFine ? (
        <Note tone="ok" title={words.calls.fine} />
      ) : (
        <Note title={own ?? of.message ?? words.calls.noMessage}>
          {own && of.message && <p lang="en">{of.message}</p>}
          <code>{of.code}</code>
          {rest && <p>{rest}</p>}
        </Note>
      )}
    </Region>
  );
}

function Details({ of }: { of: Inspected }) {
  const words = useWords();
  const format = useFormat();
  return (
    <Region title={words.calls.details}>
      <Facts
        of={[
          [words.field.at, format.time(of.at)],
          [words.field.duration, format.duration(of.duration_us)],
          [words.calls.caller, of.caller_name ?? of.caller],
          [words.calls.door, of.door],
          [words.field.address, of.uri && <Mono key="uri">{of.uri}</Mono>],
          [words.calls.requestId, <Mono key="id">{of.request_id}</Mono>],
          [words.field.size, format.bytes(of.result_bytes)],
        ]}
      />
    </Region>
  );
}
