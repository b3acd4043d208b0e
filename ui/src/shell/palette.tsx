// Ctrl K: goes to any page, tool, service or call by a few letters.
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { Dialog as RadixDialog } from "radix-ui";
import { useMemo, useState } from "react";
import { catalog } from "../api/catalog";
import { useMay } from "../api/session";
import { serviceAddress, toolAddress } from "../catalog/address";
import { find } from "../kit";
import css from "../kit/overlay.module.css";
import { nav } from "../routes";
import { useWords } from "../words";

type Target = { label: string; detail?: string; to: string; search?: Record<string, string> };
const OUR_REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i;
const REQUEST_ID = /^\S{4,200}$/;
const SHOWN = 12;

export function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = useWords();
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const groups = useTargets(text, open);
  const close = () => {
    setText("");
    onClose();
  };
  const go = (target: Target) => {
    close();
    navigate({ to: target.to, search: (target.search ?? {}) as never });
  };
  return (
    <RadixDialog.Root open={open} onOpenChange={(isOpen) => !isOpen && close()}>
      <RadixDialog.Portal>
        <RadixDialog.Overlay className={css.veil} />
        <RadixDialog.Content className={`${css.dialog} ${css.palette}`} aria-describedby={undefined}>
          <RadixDialog.Title className="hidden">{words.shell.searchEverything}</RadixDialog.Title>
          <Command label={words.shell.searchEverything} shouldFilter={false}>
            <Command.Input value={text} onValueChange={setText} placeholder={words.shell.searchHint} />
            <Command.List className={css.results}>
              <Command.Empty className={css.note}>{words.state.nothingFound}</Command.Empty>
              {groups.map(([heading, targets]) => (
                <Command.Group key={heading} heading={heading}>
                  {targets.map((target) => (
                    <Command.Item
                      key={`${target.to} ${target.label}`}
                      value={`${target.to} ${target.label}`}
                      className={css.item}
                      onSelect={() => go(target)}
                    >
                      {target.label}
                    </Command.Item>
                  ))}
                </Command.Group>
              ))}
            </Command.List>
          </Command>
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

function useTargets(text: string, open: boolean): [string, Target[]][] {
  const words = useWords();
  const may = useMay();
  const { data } = useQuery({ ...catalog, enabled: open });
  return useMemo(() => {
    const pages = nav
      .filter((entry) => !entry.may || may(entry.may))
      .map((entry): Target => ({ label: words.nav[entry.word], to: entry.path }));
    const services = (data?.services ?? []).map(
      (service): Target => ({
        label: service.name,
        detail: service.id,
        to: serviceAddress(service.type, service.id),
      }),
    );
    const tools = (data?.tools ?? []).map(
      (tool): Target => ({ label: tool.name, detail: tool.summary ?? "", ...toolAddress(tool) }),
    );
    const id = text.trim();
    const call: Target = { label: words.shell.openCall(id), to: "/ui/calls", search: { request_id: id } };
    const isOurs = OUR_REQUEST_ID.test(id);
    const groups: [string, Target[]][] = [
      [words.nav.calls, isOurs ? [call] : []],
      [words.shell.pages, find(pages, text, SHOWN)],
      [words.nav.services, find(services, text, SHOWN)],
      [words.nav.tools, find(tools, text, SHOWN)],
      // Clients may give requests ids of their own, which look like anything.
      [words.nav.calls, !isOurs && REQUEST_ID.test(id) ? [call] : []],
    ];
    return groups.filter(([, targets]) => targets.length > 0);
  }, [data, text, words, may]);
}
