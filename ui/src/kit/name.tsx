// Names that others gave: they may be long, and they may be written to turn round what stands beside them.
import { names } from "./css";
import css from "./layout.module.css";

/** Longer names are cut; the whole stands in the hint. */
const MOST = 120;
/** Whatever is longer is broken anywhere. */
const WORD = 32;
/** Names as short as this have room everywhere. */
const WHOLE = 20;
/** What changes the direction of the text around it, seen by nobody. */
const CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;

/** The same with its invisible characters shown, so that nothing is read other than it is written. */
export const visible = (text: string): string =>
  text.replace(CONTROLS, (one) => `⟨U+${one.charCodeAt(0).toString(16).toUpperCase()}⟩`);

export function cut(text: string, most = MOST): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** A name apart from its neighbours. */
export function Name({ children, most = MOST }: { children: string; most?: number }) {
  const isCut = children.length > most;
  const isLong = children.split(/\s+/).some((word) => word.length > WORD);
  return (
    <bdi className={names(isLong && css.longName)} title={isCut ? visible(children) : undefined}>
      <span>{inParts(visible(cut(children, most)))}</span>
    </bdi>
  );
}

/** Where a name that needs two lines is broken first, before it is broken anywhere. */
const JOINT = /(?<=[_./:-])(?=[^_./:-])/;

/** Sentences and times are broken between their words alone. */
export const partsOf = (text: string): string[] =>
  text.length > WHOLE && !/\s/.test(text) ? text.split(JOINT) : [text];

/** By a rule and no element of its own: whoever hears the name hears one word. */
function inParts(text: string): React.ReactNode {
  const parts = partsOf(text);
  if (parts.length === 1) return text;
  return parts.map((part, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a part is known by its place alone
    <span key={at} className={css.part}>
      {part}
    </span>
  ));
}

/** Texts as names, and everything else as it is. */
export function named(content: React.ReactNode, most?: number): React.ReactNode {
  return typeof content === "string" ? <Name most={most}>{content}</Name> : content;
}
