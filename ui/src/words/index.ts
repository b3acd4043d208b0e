// The words of the language that was chosen. Nothing else in the console has text.
import { useSyncExternalStore } from "react";
import { en, type Words } from "./en";
import { zhCN } from "./zh-CN";

export type { Words };
export type Language = "en" | "zh-CN";
export const languages: Record<Language, Words> = { en, "zh-CN": zhCN };

const KEPT = "language";
const listeners = new Set<() => void>();
let language: Language = initial();

function initial(): Language {
  const kept = typeof localStorage === "undefined" ? null : localStorage.getItem(KEPT);
  if (kept === "en" || kept === "zh-CN") return kept;
  const wished = typeof navigator === "undefined" ? "en" : navigator.language;
  return wished.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
}

export function setLanguage(next: Language): void {
  language = next;
  localStorage.setItem(KEPT, next);
  applyLanguage();
  for (const tell of listeners) tell();
}

export function applyLanguage(): void {
  document.documentElement.lang = language;
}

export function useLanguage(): Language {
  const subscribe = (tell: () => void) => {
    listeners.add(tell);
    return () => listeners.delete(tell);
  };
  return useSyncExternalStore(subscribe, () => language);
}

export function useWords(): Words {
  return languages[useLanguage()];
}

/** A word of the server's in the language that was chosen; one that we do not know is shown as it is. */
export function wordOf(all: object, word: string): string {
  return (all as Record<string, string>)[word] ?? word;
}

/** A word for a state of the server; one that we do not know is shown as it is. */
export function stateWord(words: Words, state: string): string {
  return (words.state as unknown as Record<string, string>)[state] ?? state;
}
