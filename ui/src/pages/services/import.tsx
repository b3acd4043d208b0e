// An OpenAPI document becomes a service: what it would be, what is missing, and then it is made.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { joined } from "../../api/error";
import { readJson } from "../../api/json";
import { importAs, preview } from "../../api/services";
import type { ImportPreview, ServiceType } from "../../api/types";
import { serviceAddress } from "../../catalog/address";
import { rememberSaved } from "../../catalog/saved";
import { ActionErrors, useAction } from "../../form/action";
import { useKept } from "../../form/kept";
import { setAt } from "../../form/path";
import { AreaField, Button, Stack } from "../../kit";
import { useWords } from "../../words";
import { Operations } from "./operations";

/** An address, or the document itself: JSON is sent as such, everything else as text. */
export function sourceOf(text: string): { url: string } | { document: unknown } {
  const trimmed = text.trim();
  if (/^https?:\/\/\S+$/.test(trimmed)) return { url: trimmed };
  try {
    return { document: readJson(trimmed) };
  } catch {
    return { document: trimmed };
  }
}

/** Of either the field says what is wrong. */
const SOURCES = ["document", "url"];

export function Import({ type }: { type: ServiceType }) {
  const words = useWords();
  const navigate = useNavigate();
  const [text, setText, forget] = useKept({
    place: ["services", null, type.type, "openapi"],
    begin: () => "",
    isEdited: (typed) => typed !== "",
  });
  const [seen, setSeen] = useState<ImportPreview | null>(null);
  const look = useAction(() => preview(type.type, sourceOf(text)));
  const make = useAction((body: object) => importAs(type.type, { ...sourceOf(text), ...body }), words.done.created);
  const show = async () => setSeen((await look.run()) ?? null);
  const create = async (choice: Choice) => {
    const made = await make.run(bodyOf(choice));
    if (!made) return;
    forget();
    rememberSaved(serviceAddress(made.type, made.id), made);
    navigate({ to: serviceAddress(made.type, made.id), search: { tab: "tools" } as never });
  };
  return (
    <Stack>
      <AreaField
        label={words.services.document}
        hint={words.services.documentHint}
        code
        value={text}
        error={joined(look.problems.filter(({ path }) => SOURCES.some((source) => path.startsWith(source))))}
        onValue={(next) => {
          setText(next);
          setSeen(null);
        }}
      />
      <div>
        <Button look={seen ? "plain" : "primary"} disabled={look.isBusy || !text.trim()} onClick={show}>
          {words.act.preview}
        </Button>
      </div>
      <ActionErrors of={look} />
      {seen && <Operations key={text} preview={seen} onCreate={create} creating={make} />}
    </Stack>
  );
}

export type Choice = { id: string; name: string; include: string[]; credentials: Record<string, string> };

function bodyOf({ id, name, include, credentials }: Choice): object {
  let config: unknown = {};
  for (const [setting, value] of Object.entries(credentials)) {
    if (value) config = setAt(config, setting.split("."), value);
  }
  return { id, name, include, config };
}
