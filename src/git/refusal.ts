import { withoutAddresses } from '../core/refusals/refusal.ts';

/** Returns advice about a remote that could not be read, as a sentence. */
export function describeReadRefusal(words: string): string {
  if (isExpiredToken(words)) return EXPIRED_TOKEN;
  return /(returned error:|HTTP) 40[134]\b|could not read Username|authentication failed|not found/i.test(
    withoutAddresses(words),
  )
    ? 'The token needs the permission "contents: read" for this repository (to publish: "contents: write").'
    : 'Check that the server can be reached.';
}

/** The message if the server no longer accepts the token, regardless of its permissions. */
export const EXPIRED_TOKEN =
  "The token is not accepted: it has expired, was revoked, or is for another server. A GitHub App's token lasts one hour: create it in the same job right before this step, and keep `max-minutes` below 60 minus what comes before. `${{ github.token }}` ends with its job.";

/**
 * Returns true if git's words are about a token that the server does not know, as opposed to one without the
 * permission.
 */
export function isExpiredToken(words: string): boolean {
  return /(returned error:|HTTP) 401\b|bad credentials|invalid (username|credentials)|authentication failed|could not read (Username|Password)/i.test(
    withoutAddresses(words),
  );
}

/**
 * The message about commits that a program on this machine removed from the run's own folder, which cannot be undone.
 */
export const LOST_COMMITS =
  "The commits of this run are no longer in the run's own folder: the agent or another program on this machine removed or damaged it. What was pushed before is safe on the branch; re-run the workflow.";
