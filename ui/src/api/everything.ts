// Lists come in pages; whoever shows all of one asks until it has them.

/** The most that the server puts on a page. */
const LIMIT = 1000;

type Part<T> = { items: T[]; total: number };

export async function everything<T>(ask: (page: { page: number; limit: number }) => Promise<Part<T>>): Promise<T[]> {
  const all: T[] = [];
  for (let page = 1; ; page++) {
    const { items, total } = await ask({ page, limit: LIMIT });
    all.push(...items);
    if (items.length === 0 || page * LIMIT >= total) return all;
  }
}
