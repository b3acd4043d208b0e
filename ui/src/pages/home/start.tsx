// "Start here": from nothing to an answer in three clicks.
import { useNavigate } from "@tanstack/react-router";
import { FlaskConical, Plug, Upload } from "lucide-react";
import { useMay } from "../../api/session";
import * as tables from "../../api/tables";
import * as tools from "../../api/tools";
import { ActionErrors, useAction } from "../../form/action";
import { Button, Card, LinkButton, Region, Row, Stack } from "../../kit";
import { useWords } from "../../words";

const TOOL = "example_orders";
const ORDERS = [
  { id: "o1", customer: "Ada", status: "open", total: 12.5 },
  { id: "o2", customer: "Grace", status: "closed", total: 99 },
  { id: "o3", customer: "Linus", status: "open", total: 40 },
];

/** A table with three orders, and a tool that looks into it. */
async function makeExample(): Promise<true> {
  const table = await tables.create({ name: "example", data: { orders: ORDERS } });
  await tools.create({ name: TOOL, type: "query_data", table_id: table.id, json_path: "/orders" });
  return true;
}

export function StartHere() {
  const words = useWords();
  const may = useMay();
  const navigate = useNavigate();
  const example = useAction(makeExample);
  const go = async () => {
    if (!(await example.run())) return;
    const args = JSON.stringify({ query: "[?status=='open']" });
    navigate({ to: "/ui/try", search: { uri: `tool://${TOOL}/call`, args } as never });
  };
  if (!may("make_tools")) return null;
  return (
    <Region title={words.home.start}>
      <Card quiet>
        <Stack>
          <p>{words.home.startDetail}</p>
          <ActionErrors of={example} />
          <Row>
            <Button look="primary" disabled={example.isBusy} onClick={go} icon={<FlaskConical size={16} aria-hidden />}>
              {words.home.example}
            </Button>
            {may("make_services") && (
              <LinkButton to="/ui/services/new" icon={<Plug size={16} aria-hidden />}>
                {words.things.services.add}
              </LinkButton>
            )}
            <LinkButton to="/ui/tables" search={{ upload: "1" }} icon={<Upload size={16} aria-hidden />}>
              {words.home.upload}
            </LinkButton>
          </Row>
        </Stack>
      </Card>
    </Region>
  );
}
