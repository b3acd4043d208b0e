// Agents: a conversation with one of them, with every tool that it calls.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { agents } from "../../api/agents";
import { useMay } from "../../api/session";
import { Empty, Header, LinkButton, Loaded, SelectField, Stack } from "../../kit";
import { useWords } from "../../words";
import { Chat } from "./chat";

export default function Agents() {
  const words = useWords();
  const may = useMay();
  const navigate = useNavigate();
  const { id } = useParams({ strict: false }) as { id?: string };
  const all = useQuery(agents);
  return (
    <Stack>
      <Header title={id ?? all.data?.[0]?.id ?? words.nav.agents}>
        {may("make_services") && (
          <LinkButton look="primary" to="/ui/services/new" search={{ type: "agent" }}>
            {words.things.agents.add}
          </LinkButton>
        )}
      </Header>
      <Loaded query={all}>
        {(items) => {
          const chosen = id ?? items[0]?.id;
          if (!chosen) {
            return <Empty title={words.things.agents.none} />;
          }
          const options = items.map((agent) => ({ value: agent.id, label: agent.id }));
          return (
            <Stack>
              <SelectField
                label={words.agents.agent}
                value={chosen}
                options={options}
                onValue={(value) => navigate({ to: `/ui/agents/${value}` })}
              />
              <Chat key={chosen} agent={chosen} />
            </Stack>
          );
        }}
      </Loaded>
    </Stack>
  );
}
