import { withoutAddresses } from '../core/refusals/refusal.ts';

/** What to do about a remote that could not be read: a sentence. */
export function adviceOnReading(words: string): string {
  return /(returned error:|HTTP) 40[134]\b|could not read Username|authentication failed|not found/i.test(
    withoutAddresses(words),
  )
    ? 'The token needs the permission "contents: read" for this repository (to publish: "contents: write").'
    : 'Check that the server can be reached.';
}

/** The end of commits that are not in the run's own folder any more: nobody else is to blame and nothing can be done. */
export const LOST_COMMITS =
  "The commits of this run are no longer in the run's own folder: the agent or another program on this machine removed or damaged it. What was pushed before is safe on the branch; re-run the workflow.";
