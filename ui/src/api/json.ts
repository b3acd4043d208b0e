// JSON as it is written: a number that JavaScript would make another one of keeps its spelling.

/** What stands before the spelling while it is a text; nobody can guess it. */
const MARK = `number-${Array.from(crypto.getRandomValues(new Uint32Array(4))).join("-")}:`;
const MARKED = new RegExp(`"${MARK}([^"]*)"`, "g");
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** Where a text or a number begins. */
const BEGIN = /"|-?\d[\d.eE+-]*/g;

/** A number whose spelling says more than JavaScript keeps of it: 9007199254740993, 1.0, 1e400. */
export class Numeral {
  constructor(readonly source: string) {}

  toString(): string {
    return this.source;
  }

  valueOf(): number {
    return Number(this.source);
  }

  /** So that what only compares texts sees a difference; `writeJson` writes the number. */
  toJSON(): string {
    return MARK + this.source;
  }
}

/** The number that is written so, or nothing where JSON has no such number. */
export function numberOf(text: string): number | Numeral | undefined {
  if (!NUMBER.test(text)) return undefined;
  return String(Number(text)) === text ? Number(text) : new Numeral(text);
}

/** `JSON.parse`, with numbers as they are written. */
export function readJson(text: string): unknown {
  const marked = mark(text);
  // As it is written first: what is no JSON is refused where its author wrote it.
  const plain: unknown = JSON.parse(text);
  if (marked === text) return plain;
  return JSON.parse(marked, (_, value) =>
    typeof value === "string" && value.startsWith(MARK) ? new Numeral(value.slice(MARK.length)) : value,
  );
}

/** `JSON.stringify`, with numbers as they were written; `keys` says which keys, in which order. */
export function writeJson(value: unknown, indent?: number, keys?: string[]): string {
  return (JSON.stringify(value, keys ?? null, indent) ?? "").replace(MARKED, "$1");
}

/** The same JSON with every number that would be changed as a marked text. */
function mark(text: string): string {
  const parts: string[] = [];
  let done = 0;
  BEGIN.lastIndex = 0;
  for (let found = BEGIN.exec(text); found; found = BEGIN.exec(text)) {
    const [token] = found;
    if (token === '"') {
      BEGIN.lastIndex = endOfText(text, BEGIN.lastIndex);
    } else if (numberOf(token) instanceof Numeral) {
      parts.push(text.slice(done, found.index), `"${MARK}${token}"`);
      done = BEGIN.lastIndex;
    }
  }
  return done === 0 ? text : parts.join("") + text.slice(done);
}

/** Behind the quote that ends a text: one that no odd number of backslashes stands before. */
function endOfText(text: string, begin: number): number {
  for (let at = text.indexOf('"', begin); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
  return text.length;
}
