/** A sentence names at most so many, unless it has a number of its own. */
const MAX_NAMES = 10;

/** Names for a sentence, the first ten of them: `a, b and 3 more`. */
export function namesOf(names: readonly string[]): string {
  return firstNames(names, MAX_NAMES);
}

/** Names for a sentence, the first `max` of them. */
export function firstNames(names: readonly string[], max: number): string {
  return namesOutOf(names.slice(0, max), names.length);
}

/** Names that are some of `count`, for a sentence. */
export function namesOutOf(names: readonly string[], count: number): string {
  return `${names.join(', ')}${andMore(count - names.length)}`;
}

/** ` and 3 more` at the end of a list; empty when that was all. */
export function andMore(left: number): string {
  return left > 0 ? ` and ${left} more` : '';
}

/** At most `max` lines, and one that says how many more there are. */
export function firstLines(lines: readonly string[], max: number): readonly string[] {
  return [...lines.slice(0, max), ...moreLine(lines.length - max)];
}

/** The line `… and 3 more` below a list that was cut; none when that was all. */
export function moreLine(left: number): readonly string[] {
  return left > 0 ? [`… and ${left} more`] : [];
}
