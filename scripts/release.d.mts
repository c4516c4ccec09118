/**
 * Returns every reason why a version cannot be released. `tags` are all existing ones, `here` those of the released
 * commit; `tip` is true if that commit is the newest of main.
 */
export function releaseProblems(release: {
  readonly version: string;
  readonly packageVersion: string;
  readonly changelog: string;
  readonly tags: readonly string[];
  readonly here: readonly string[];
  readonly tip: boolean;
}): readonly string[];

/** Returns the text below `## VERSION` of a changelog, or null without such a heading. */
export function notesOf(changelog: string, version: string): string | null;
