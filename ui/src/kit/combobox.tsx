// A text field that offers what fits: one of ten thousand, by a few letters.
import { type KeyboardEvent, useId, useMemo, useState } from "react";
import { useWords } from "../words";
import control from "./control.module.css";
import { Field, type FieldProps } from "./field";
import { Muted } from "./layout";
import { Name } from "./name";
import css from "./overlay.module.css";

export type Choice = { value: string; label: string; detail?: string };
type Props = FieldProps & { value: string; choices: Choice[]; onValue: (value: string) => void };

/** More than these are not shown; another letter makes them fewer. */
const SHOWN = 50;

export function Combobox({ value, choices, onValue, ...field }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  const [at, setAt] = useState(0);
  const list = useId();
  const current = choices.find((choice) => choice.value === value);
  const found = useMemo(() => find(choices, typed ?? ""), [choices, typed]);
  const choose = (choice: Choice | undefined) => {
    if (choice) onValue(choice.value);
    setTyped(null);
  };
  const isOpen = typed !== null;
  return (
    <div className={css.combo}>
      <Field {...field}>
        {(described) => (
          <input
            {...described}
            className={control.input}
            role="combobox"
            autoComplete="off"
            spellCheck={false}
            aria-expanded={isOpen}
            aria-controls={list}
            aria-autocomplete="list"
            aria-activedescendant={isOpen && found[at] ? `${list}-${at}` : undefined}
            value={typed ?? current?.label ?? value}
            onFocus={(event) => event.target.select()}
            onClick={() => setTyped(typed ?? "")}
            onBlur={() => setTyped(null)}
            onChange={(event) => {
              setTyped(event.target.value);
              setAt(0);
            }}
            onKeyDown={(event) =>
              onKey(event, { at, setAt, count: found.length, isOpen, setTyped, take: () => choose(found[at]) })
            }
          />
        )}
      </Field>
      <Options id={list} isOpen={isOpen} found={found} at={at} onChoose={choose} />
    </div>
  );
}

type Keys = {
  at: number;
  count: number;
  isOpen: boolean;
  setAt: (at: number) => void;
  setTyped: (typed: string | null) => void;
  take: () => void;
};

function onKey(event: KeyboardEvent, { at, count, isOpen, setAt, setTyped, take }: Keys) {
  const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
  const move = moves[event.key];
  if (move) {
    event.preventDefault();
    if (!isOpen) setTyped("");
    else setAt((at + move + count) % Math.max(count, 1));
  } else if (event.key === "Enter" && isOpen && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    take();
  } else if (event.key === "Escape" && isOpen) {
    event.stopPropagation();
    setTyped(null);
  }
}

type OptionsProps = { id: string; isOpen: boolean; found: Choice[]; at: number; onChoose: (choice: Choice) => void };

function Options({ id, isOpen, found, at, onChoose }: OptionsProps) {
  const words = useWords();
  return (
    <div id={id} role="listbox" aria-label={words.state.matches} className={`${css.menu} ${css.list}`} hidden={!isOpen}>
      {found.map((choice, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the text field has the keys
        // biome-ignore lint/a11y/useFocusableInteractive: the text field keeps the focus
        <div
          key={choice.value}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          className={css.option}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(choice)}
        >
          <Name>{choice.label}</Name> {choice.detail && <Muted small>{choice.detail}</Muted>}
        </div>
      ))}
      {found.length === 0 && <div className={css.note}>{words.state.nothingFound}</div>}
    </div>
  );
}

/** Whatever has all the words, in the order given; names that begin so come first. */
export function find<T extends { label: string; detail?: string }>(choices: T[], text: string, most = SHOWN): T[] {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return choices.slice(0, most);
  const starts: T[] = [];
  const others: T[] = [];
  for (const choice of choices) {
    const label = choice.label.toLowerCase();
    const all = `${label} ${choice.detail?.toLowerCase() ?? ""}`;
    if (!wanted.every((word) => all.includes(word))) continue;
    (label.startsWith(wanted[0] ?? "") ? starts : others).push(choice);
    if (starts.length >= most) break;
  }
  return [...starts, ...others].slice(0, most);
}
