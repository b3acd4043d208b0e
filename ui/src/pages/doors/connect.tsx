// "Connect": what each client needs, ready to be copied, and word of its first call.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { calls } from "../../api/calls";
import { knownKey } from "../../api/door-keys";
import { connect } from "../../api/doors";
import { hear } from "../../api/events";
import type { ConnectClient, Door } from "../../api/types";
import { AreaField, Badge, CopyButton, Dialog, Loaded, LocalTabs, Mono, Muted, Note, Row, Stack } from "../../kit";
import { useWords } from "../../words";

const PLACEHOLDER = "{key}";

export function ConnectDialog({ of, open, onClose }: { of: Door; open: boolean; onClose: () => void }) {
  const words = useWords();
  return (
    <Dialog title={words.doors.connect} open={open} onClose={onClose} wide>
      <Connect of={of} />
    </Dialog>
  );
}

function Connect({ of }: { of: Door }) {
  const words = useWords();
  const query = useQuery(connect(of.id));
  const key = knownKey(of.id);
  return (
    <Stack>
      <FirstCall of={of} />
      {!key && <Note tone="warn" title={words.doors.keyUnknown} />}
      <Loaded query={query}>
        {({ clients }) => (
          <LocalTabs
            label={words.doors.clients}
            tabs={clients.map((client) => ({
              id: client.id,
              label: client.id === "other" ? words.doors.other : client.title,
              body: () => <Snippet client={client} apiKey={key} />,
            }))}
          />
        )}
      </Loaded>
    </Stack>
  );
}

function Snippet({ client, apiKey }: { client: ConnectClient; apiKey: string | undefined }) {
  const words = useWords();
  const fill = (text: string) => (apiKey ? text.replaceAll(PLACEHOLDER, apiKey) : text);
  const text = fill(client.text);
  return (
    <Stack>
      {client.path && (
        <Row>
          <Muted>{words.doors.file}</Muted> <Mono>{client.path}</Mono>
        </Row>
      )}
      <AreaField label={words.doors.snippet} code readOnly rows={8} value={text} onValue={() => undefined} />
      <Row>
        <CopyButton text={text} />
        {client.link && apiKey && <a href={fill(client.link)}>{words.doors.openClient(client.title)}</a>}
      </Row>
    </Stack>
  );
}

/** Whether anybody has called through this door: the audit knows, and the stream says it at once. */
function FirstCall({ of }: { of: Door }) {
  const words = useWords();
  const [isHeard, setHeard] = useState(false);
  const { data } = useQuery({ ...calls({ door: of.id }), refetchInterval: isHeard ? false : 2_000 });
  useEffect(
    () => hear((event) => event.type === "call" && String(event.call.door ?? "").includes(of.id) && setHeard(true)),
    [of.id],
  );
  const isConnected = isHeard || (data?.total ?? 0) > 0;
  const word = isConnected ? words.doors.connected : words.doors.waiting;
  return (
    <div role="status" aria-label={word}>
      <Badge tone={isConnected ? "ok" : "busy"}>{word}</Badge>
    </div>
  );
}
