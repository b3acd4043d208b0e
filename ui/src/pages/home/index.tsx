// Home: where to begin, what flows through the doors, and what failed lately.
import { useQuery } from "@tanstack/react-query";
import { catalog, overview } from "../../api/catalog";
import { Big, Header, Loaded, Muted, Row, Stack } from "../../kit";
import { useNarrow } from "../../kit/narrow";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";
import { Failures } from "./failures";
import { StartHere } from "./start";
import { Traffic } from "./traffic";

export default function Home() {
  const words = useWords();
  const format = useFormat();
  const isNarrow = useNarrow();
  const traffic = useQuery(overview);
  const all = useQuery(catalog);
  const isFresh = all.data && all.data.services.length === 0 && !all.data.tools.some((tool) => tool.id);
  const doors = traffic.data?.doors ?? [];
  const calls = doors.reduce((sum, door) => sum + door.calls, 0);
  const errors = doors.reduce((sum, door) => sum + door.errors, 0);
  const perMinute = (calls * 60) / (traffic.data?.window_s || 60);
  return (
    <Stack gap="loose">
      <Header title={words.nav.home}>
        {traffic.data && (
          <Row>
            <Big>{words.home.rate(format.number(perMinute))}</Big>
            <Muted>{words.home.errors(format.percent(errors, calls))}</Muted>
          </Row>
        )}
      </Header>
      {(isFresh || all.isError) && <StartHere />}
      <Loaded query={traffic}>
        {(data) => (
          <Stack gap="loose">
            {/* Where there is room for one thing only, what failed comes first. */}
            {isNarrow && <Failures all={data.failures} />}
            <Traffic data={data} />
            {!isNarrow && <Failures all={data.failures} />}
          </Stack>
        )}
      </Loaded>
    </Stack>
  );
}
