/** The default priority; 1 is highest. */
export const NORMAL_PRIORITY = 2;

/** The words by which a person or an agent gives a priority. */
export const priorityWords = ['high', 'medium', 'low'] as const;
export type PriorityWord = (typeof priorityWords)[number];

const WORDS: ReadonlyMap<string, number> = new Map([
  ['p0', 1],
  ['critical', 1],
  ['urgent', 1],
  ['highest', 1],
  ['high', 1],
  ['p1', 2],
  ['medium', 2],
  ['normal', 2],
  ['none', 2],
  ['p2', 3],
  ['low', 3],
  ['lowest', 3],
  ['p3', 4],
]);

/** Returns the priority of a word such as `high` or `P2`, in any case; null for any other word. */
export function priorityOfWord(word: string): number | null {
  return WORDS.get(word.toLowerCase()) ?? null;
}

/**
 * Returns the priority of an issue's label such as `P0`, `priority:high`, `priority: P1` or `high-priority`; null for
 * any other label.
 */
export function priorityOfLabel(label: string): number | null {
  const [, ...words]: readonly (string | undefined)[] =
    /^(?:(p[0-3])|prio(?:rity)?\s*[:/ _-]\s*(\w+)|(\w+)[ _-]priority)$/i.exec(label.trim()) ?? [];
  const word = words.find((found) => found !== undefined);
  return word === undefined ? null : priorityOfWord(word);
}

/**
 * Returns the priority of a heading that begins with a priority word: `High Priority`, `🔴 P0 – now`, `Priority: low`,
 * `Priority 1` to `Priority 5`; null for any other heading.
 */
export function priorityOfHeading(heading: string): number | null {
  const number = /^[^\p{L}\p{N}]*priority[\s:–—#-]+([1-5])(?![\p{L}\p{N}_]|[.,]\d)/iu.exec(heading)?.[1];
  if (number !== undefined) return Number(number);
  const word =
    /^[^\p{L}]*(?:priority[\s:–—-]+)?(critical|urgent|high(?:est)?|medium|normal|low(?:est)?|p[0-3])(?:[\s-]*priority|(?![\p{L}\p{N}_]|-\p{L}))/iu.exec(
      heading,
    )?.[1];
  return word === undefined ? null : priorityOfWord(word);
}
