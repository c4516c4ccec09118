/** Every reason why a version cannot be released; `tags` are those that exist, `here` those of the commit that is released, `tip`: it is the newest of main. */
export function releaseProblems(release: {
  readonly version: string;
  readonly packageVersion: string;
  readonly changelog: string;
  readonly tags: readonly string[];
  readonly here: readonly string[];
  readonly tip: boolean;
}): readonly string[];

/** The text below `## VERSION` of a changelog; null: there is no such heading. */
export function notesOf(changelog: string, version: string): string | null;
