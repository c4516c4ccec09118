const MAX_TYPED_CHARS = 40;

/** Returns the name that `word` was most likely meant to be; null if none is similar. */
export function findNearest<Name extends string>(word: string, names: readonly Name[]): Name | null {
  const typed = word.toLowerCase().slice(0, MAX_TYPED_CHARS);
  const [best] = names
    .map((name) => ({ name, distance: editDistance(typed, name) }))
    .filter(({ name, distance }) => distance <= (name.length > 4 ? 2 : 1))
    .sort((a, b) => a.distance - b.distance);
  return best?.name ?? null;
}

/** Returns true if `word` differs from one of the names by at most one letter. */
export function isAlmostName(word: string, names: readonly string[]): boolean {
  const typed = word.toLowerCase().slice(0, MAX_TYPED_CHARS);
  return names.some((name) => editDistance(typed, name) <= 1);
}

/** Returns all names, the most likely meant ones first. */
export function sortByNearness(word: string, names: readonly string[]): readonly string[] {
  const typed = word.slice(0, MAX_TYPED_CHARS);
  return names
    .map((name) => ({ name, distance: editDistance(typed, name.slice(0, MAX_TYPED_CHARS)) }))
    .sort((a, b) => a.distance - b.distance)
    .map(({ name }) => name);
}

/** Returns the number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= a.length; row += 1) {
    rows[row] = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = at(row - 1, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const swapped =
        a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1] ? at(row - 2, column - 2) + 1 : Infinity;
      rows[row]?.push(Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, replaced, swapped));
    }
  }
  return at(a.length, b.length);
}
