// One table: its tree, its rows, questions to it, what it was before.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Wrench } from "lucide-react";
import { useState } from "react";
import { useMay } from "../../api/session";
import { exportAddress, remove, table } from "../../api/tables";
import type { Table } from "../../api/types";
import { Download } from "../../catalog/download";
import { ActionErrors, useAction } from "../../form/action";
import { Button, DeleteButton, Header, LoadedPage, Mono, PageTabs, Row, Stack } from "../../kit";
import { useWords } from "../../words";
import { Grid } from "./grid";
import { MakeTool } from "./make-tool";
import { Query } from "./query";
import { Tree } from "./tree";
import { TableVersions } from "./versions";

export default function TablePage() {
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  const words = useWords();
  return (
    <LoadedPage title={words.nav.tables} query={useQuery(table(id))}>
      {(data) => <TableTabs key={data.id} of={data} />}
    </LoadedPage>
  );
}

function TableTabs({ of }: { of: Table }) {
  const words = useWords();
  const may = useMay();
  const navigate = useNavigate();
  const [path, setPath] = useState("");
  const [isMaking, setMaking] = useState(false);
  const gone = useAction(async () => {
    await remove(of.id);
    navigate({ to: "/ui/tables" });
  }, words.done.deleted);
  return (
    <Stack>
      <Header title={of.name}>
        <Download href={exportAddress(of.id, "json")} name={`${of.name}.json`}>
          {words.act.export}
        </Download>
        {may("make_tools") && (
          <>
            <Button look="primary" icon={<Wrench size={16} aria-hidden />} onClick={() => setMaking(true)}>
              {words.tables.make}
            </Button>
            <DeleteButton what={of.name} onDelete={() => gone.run()} />
          </>
        )}
      </Header>
      <ActionErrors of={gone} />
      <Row>
        {words.tables.part} <Mono>{path || "/"}</Mono>
      </Row>
      <PageTabs
        label={of.name}
        tabs={[
          { id: "tree", label: words.tables.tree, body: () => <Tree of={of} path={path} onPath={setPath} /> },
          { id: "grid", label: words.tables.grid, body: () => <Grid key={path} of={of} path={path} /> },
          { id: "query", label: words.tables.query, body: () => <Query of={of} path={path} /> },
          { id: "versions", label: words.tools.versions, body: () => <TableVersions of={of} /> },
        ]}
      />
      <MakeTool of={of} path={path} open={isMaking} onClose={() => setMaking(false)} />
    </Stack>
  );
}
