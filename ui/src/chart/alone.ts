// Values that no line leads to or from.

/** Where a value has none beside it. */
export function alone(values: ArrayLike<number | null | undefined>): number[] {
  const isThere = (at: number) => values[at] !== null && values[at] !== undefined;
  return Array.from(values, (_, at) => at).filter((at) => isThere(at) && !isThere(at - 1) && !isThere(at + 1));
}
