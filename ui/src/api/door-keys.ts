// Keys of doors that were made or rotated while this page is open: shown once, kept in memory, never stored.
const keys = new Map<string, string>();

export const rememberKey = (door: string, key: string): void => void keys.set(door, key);
export const knownKey = (door: string): string | undefined => keys.get(door);
