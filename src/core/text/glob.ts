/**
 * A part of a glob: `*` and `?` stay within a folder, `**` does not; `**` followed by a slash matches any number of
 * folders.
 */
type Part =
  | { readonly kind: 'sign'; readonly sign: string }
  | { readonly kind: 'one' | 'within' | 'across' | 'folders' };

/** Returns the last part of a path. */
export function getFileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Creates a function that returns true if a glob matches a whole path. Its time is proportional to both lengths. */
export function createGlob(glob: string): (path: string) => boolean {
  const parts = (glob.match(/\*\*\/?|[^]/gu) ?? []).map((text): Part => {
    const kind = KINDS.get(text);
    return kind === undefined ? { kind: 'sign', sign: text } : { kind };
  });
  return (path) => {
    let places = reachedFrom(parts, [before(0)]);
    for (const sign of path) {
      places = reachedFrom(
        parts,
        [...places].flatMap((place) => behind(parts, place, sign)),
      );
      if (places.size === 0) return false;
    }
    return places.has(before(parts.length));
  };
}

const KINDS: ReadonlyMap<string, Exclude<Part['kind'], 'sign'>> = new Map([
  ['?', 'one'],
  ['*', 'within'],
  ['**', 'across'],
  ['**/', 'folders'],
]);

/** Returns the place before a part. `inFolder` returns the other kind of place, in the middle of a folder's name. */
function before(part: number): number {
  return part * 2;
}

function inFolder(part: number): number {
  return part * 2 + 1;
}

/** Returns the places reached by one more character. */
function behind(parts: readonly Part[], place: number, sign: string): readonly number[] {
  const index = Math.floor(place / 2);
  const part = parts[index];
  switch (part?.kind) {
    case undefined:
      return [];
    case 'sign':
      return part.sign === sign ? [before(index + 1)] : [];
    case 'one':
      return sign === '/' ? [] : [before(index + 1)];
    case 'within':
      return sign === '/' ? [] : [before(index)];
    case 'across':
      return [before(index)];
    case 'folders':
      if (sign !== '/') return [inFolder(index)];
      return place === inFolder(index) ? [before(index)] : [];
  }
}

/** Adds the places that are reached without a character, because parts that match any number also match none. */
function reachedFrom(parts: readonly Part[], places: readonly number[]): ReadonlySet<number> {
  const reached = new Set<number>();
  for (const place of places) {
    let next = place;
    while (!reached.has(next)) {
      reached.add(next);
      const kind = next % 2 === 0 ? parts[next / 2]?.kind : undefined;
      if (kind !== undefined && kind !== 'sign' && kind !== 'one') next += 2;
    }
  }
  return reached;
}
