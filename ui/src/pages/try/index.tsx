// Try: any tool that can be called, with any arguments.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { catalog, withoutOptions } from "../../api/catalog";
import { readJson } from "../../api/json";
import { TryPanel } from "../../catalog/try-panel";
import { Combobox, Header, Loaded, Note, Stack, useAddress } from "../../kit";
import { useWords } from "../../words";

function argsOf(text: string | undefined): Record<string, unknown> | undefined {
  try {
    return text ? (readJson(text) as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

export default function Try() {
  const words = useWords();
  const all = useQuery(catalog);
  const [{ uri = "", args }, setAddress] = useAddress<"uri" | "args">();
  const choices = useMemo(
    () => (all.data?.tools ?? []).map((tool) => ({ value: tool.uri, label: tool.name, detail: tool.summary ?? "" })),
    [all.data],
  );
  return (
    <Stack>
      <Header title={words.trying.title} />
      <Loaded query={all}>
        {({ tools }) => {
          const known = tools.find((tool) => tool.uri === withoutOptions(uri));
          // It is called as it was asked for, options and all.
          const entry = known ? { ...known, uri } : uri ? { name: uri, uri, kind: "" } : null;
          return (
            <>
              <Combobox
                label={words.trying.tool}
                value={known?.uri ?? uri}
                choices={choices}
                onValue={(next) => setAddress({ uri: next, args: undefined })}
              />
              {uri && !known && (
                <Note tone="warn" title={words.trying.noTool}>
                  <p>{words.trying.noToolDetail}</p>
                </Note>
              )}
              {entry && <TryPanel key={`${entry.uri} ${args ?? ""}`} entry={entry} first={argsOf(args)} />}
            </>
          );
        }}
      </Loaded>
    </Stack>
  );
}
