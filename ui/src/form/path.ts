// Places in JSON: `tools[0].parameters[1].name`, as the server names them in its problems.

export type Path = (string | number)[];

export function parsePath(text: string): Path {
  const parts = text.startsWith("/") ? text.slice(1).split("/").map(plain) : text.match(/[^.[\]]+/g);
  return (parts ?? []).map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

const plain = (part: string) => part.replaceAll("~1", "/").replaceAll("~0", "~");

export function getAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const part of path) {
    if (at === null || typeof at !== "object") return undefined;
    at = (at as Record<string | number, unknown>)[part];
  }
  return at;
}

/** A copy with another value at one place; `undefined` takes the key away. What is beside it stays as it is. */
export function setAt(value: unknown, path: Path, next: unknown): unknown {
  const [head, ...rest] = path;
  if (head === undefined) return next;
  if (typeof head === "number") {
    const list = Array.isArray(value) ? [...value] : [];
    const item = setAt(list[head], rest, next);
    if (item === undefined) list.splice(head, 1);
    else list[head] = item;
    return list;
  }
  const object: Record<string, unknown> = value && typeof value === "object" ? { ...(value as object) } : {};
  const item = setAt(object[head], rest, next);
  if (item === undefined) delete object[head];
  else object[head] = item;
  return object;
}

export function isBelow(path: Path, prefix: Path): boolean {
  return prefix.every((part, at) => path[at] === part);
}

export function isSame(a: Path, b: Path): boolean {
  return a.length === b.length && isBelow(a, b);
}
