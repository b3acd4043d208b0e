// The last calls that failed, each a click away from why.
import { useQuery } from "@tanstack/react-query";
import { me } from "../../api/session";
import type { Call } from "../../api/types";
import { StateBadge } from "../../catalog/badges";
import { Card, Link, Muted, Region, Row, Stack } from "../../kit";
import css from "../../kit/show.module.css";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";

export function Failures({ all }: { all: Call[] }) {
  const words = useWords();
  const format = useFormat();
  // Viewers see how much fails, and not whose calls.
  const isKept = useQuery(me).data?.role === "viewer";
  return (
    <Region title={words.home.failures}>
      {all.length === 0 && <Muted>{isKept ? words.home.failuresForManagers : words.home.noFailures}</Muted>}
      {all.length > 0 && (
        <ul aria-label={words.home.failures} className={css.list}>
          {all.map((failure) => (
            <li key={failure.id}>
              <Card>
                <Stack gap="tight">
                  <Row at="between">
                    <Row>
                      <StateBadge state={failure.status} />
                      <Link to={`/ui/calls/${failure.id}`}>{failure.tool}</Link>
                      <code>{failure.code}</code>
                    </Row>
                    <Muted small>{format.time(failure.at)}</Muted>
                  </Row>
                  {failure.message && <Muted small>{failure.message}</Muted>}
                </Stack>
              </Card>
            </li>
          ))}
        </ul>
      )}
    </Region>
  );
}
