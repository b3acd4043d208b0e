// "Add step": a palette of everything that can be called.
import { useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { Plus } from "lucide-react";
import { useMemo, useState } from "react";
import { catalog } from "../../api/catalog";
import { Button, Dialog, find, Muted } from "../../kit";
import css from "../../kit/overlay.module.css";
import { useWords } from "../../words";

const SHOWN = 30;

export function AddStep({ onAdd, disabled }: { onAdd: (uri: string) => void; disabled: boolean }) {
  const words = useWords();
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState("");
  const { data } = useQuery(catalog);
  const found = useMemo(() => {
    const all = data?.tools.map((tool) => ({ label: tool.name, detail: tool.summary ?? "", uri: tool.uri })) ?? [];
    return find(all, text, SHOWN);
  }, [data, text]);
  const add = (uri: string) => {
    onAdd(uri);
    setOpen(false);
    setText("");
  };
  return (
    <>
      <Button icon={<Plus size={14} aria-hidden />} disabled={disabled} onClick={() => setOpen(true)}>
        {words.flows.addStep}
      </Button>
      <Dialog title={words.flows.addStep} open={isOpen} onClose={() => setOpen(false)}>
        <Command label={words.flows.addStep} shouldFilter={false}>
          <Command.Input
            className={css.find}
            value={text}
            onValueChange={setText}
            placeholder={words.things.tools.filter}
          />
          <Command.List className={css.results}>
            <Command.Empty className={css.note}>{words.state.nothingFound}</Command.Empty>
            {found.map((tool) => (
              <Command.Item key={tool.uri} value={tool.uri} className={css.item} onSelect={() => add(tool.uri)}>
                {tool.label} <Muted small>{tool.detail}</Muted>
              </Command.Item>
            ))}
          </Command.List>
        </Command>
      </Dialog>
    </>
  );
}
