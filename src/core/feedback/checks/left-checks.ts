import { cleanTitle } from '../../text/clean.ts';
import { capped } from '../../text/cut.ts';
import { namesOf } from '../../text/lists.ts';
import type { ChecksSummary } from './checks-summary.ts';

const MAX_NAME_CHARS = 80;

/** Why failed checks start no work, as sentences; empty: there are none of that kind. */
export function leftChecks({ alsoOnBase, flaky, unreadable }: ChecksSummary): string {
  return [
    ...(alsoOnBase.length === 0
      ? []
      : [`Not worked on here, since the base branch fails in the same way: ${quoted(alsoOnBase)}.`]),
    ...(flaky.length === 0 ? [] : [`Not worked on, since the same commit passed and failed: ${quoted(flaky)}.`]),
    ...(unreadable === null ? [] : [`The checks of the pull request could not be read. ${unreadable}`]),
  ].join(' ');
}

/** Names are raw: anybody can call a check whatever they like. */
function quoted(names: readonly string[]): string {
  return namesOf(names.map((name) => `"${capped(cleanTitle(name).text, MAX_NAME_CHARS)}"`));
}
