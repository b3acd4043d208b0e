/** What it makes, or nothing where it cannot. */
export function tried<T>(make: () => T): T | null {
  try {
    return make();
  } catch {
    return null;
  }
}
