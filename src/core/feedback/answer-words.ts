// What Ralph itself answers where no agent was asked: sentence parts in which `backticks` mark code.

/** A suggestion that was committed as it stands; the commit's id follows. */
export const SUGGESTION_APPLIED = 'Applied as suggested';

/** A suggestion that changes nothing any more. */
export const ALREADY_THERE = 'The file has this text already';

/** A merge in which nothing but lock files conflicted, which were made again; the commit's id follows. */
export const MERGED_WITHOUT_CALL = 'Merged, with its lock files made again';

/** A suggestion that must not be published. `why`: a sentence part. */
export function suggestionWithheld(path: string, why: string): string {
  return `Not applied: \`${path.replaceAll('`', "'")}\` is left out, because ${why}`;
}
