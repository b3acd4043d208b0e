/** Joins the class names that count. */
export function names(...all: (string | false | null | undefined)[]): string {
  return all.filter(Boolean).join(" ");
}
