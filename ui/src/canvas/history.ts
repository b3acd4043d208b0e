// One stack of undo for a flow, whether it was changed on the canvas or in the YAML.

export type History = { past: string[]; now: string; future: string[]; at: number };

const MOST = 200;
/** Letters typed one after another are one step. */
const TOGETHER_MS = 600;

export const begin = (text: string): History => ({ past: [], now: text, future: [], at: 0 });

export function push(history: History, text: string, at = Date.now(), isTyped = false): History {
  if (text === history.now) return history;
  const isSame = isTyped && at - history.at < TOGETHER_MS && history.past.length > 0;
  const past = isSame ? history.past : [...history.past, history.now].slice(-MOST);
  return { past, now: text, future: [], at: isTyped ? at : 0 };
}

export function undo(history: History): History {
  const last = history.past.at(-1);
  if (last === undefined) return history;
  return { past: history.past.slice(0, -1), now: last, future: [history.now, ...history.future], at: 0 };
}

export function redo(history: History): History {
  const [next, ...future] = history.future;
  if (next === undefined) return history;
  return { past: [...history.past, history.now], now: next, future, at: 0 };
}
