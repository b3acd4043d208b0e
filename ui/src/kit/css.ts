/** Joins the class names that count; where none does, there is no attribute that a rule could look for. */
export function names(...all: (string | false | null | undefined)[]): string | undefined {
  return all.filter(Boolean).join(" ") || undefined;
}
