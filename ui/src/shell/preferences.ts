// What one person likes, kept in this browser: theme, and whether single keys do something.
import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";
type Preferences = { theme: Theme; keys: boolean };

const KEPT = "preferences";
const listeners = new Set<() => void>();
const dark = matchMedia("(prefers-color-scheme: dark)");
let preferences: Preferences = { theme: "system", keys: true, ...read() };

function read(): Partial<Preferences> {
  try {
    return JSON.parse(localStorage.getItem(KEPT) ?? "{}");
  } catch {
    return {};
  }
}

export function applyTheme(): void {
  const { theme } = preferences;
  const isDark = theme === "dark" || (theme === "system" && dark.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}

dark.addEventListener("change", applyTheme);

export function prefer(changes: Partial<Preferences>): void {
  preferences = { ...preferences, ...changes };
  localStorage.setItem(KEPT, JSON.stringify(preferences));
  applyTheme();
  for (const tell of listeners) tell();
}

export function usePreferences(): Preferences {
  const subscribe = (tell: () => void) => {
    listeners.add(tell);
    return () => listeners.delete(tell);
  };
  return useSyncExternalStore(subscribe, () => preferences);
}
