import { cut } from '../core/text/cut.ts';

/** What a server said about a push, as a sentence that names the cure. */
export function explainRefusal(words: string): string {
  const answer = cut(words.trim(), 1000);
  if (isUnreachable(answer)) return `The git server could not be reached: ${answer}`;
  const meant = withoutAddresses(answer);
  if (isExpired(answer)) return `${EXPIRED} (The server said: ${answer})`;
  const known = refusals.find(({ pattern }) => pattern.test(meant));
  return known ? `${known.meaning} (The server said: ${answer})` : `The server refused the push: ${answer}`;
}

/** What to do about a remote that could not be read: a sentence. */
export function adviceOnReading(words: string): string {
  if (isExpired(words)) return EXPIRED;
  return /(returned error:|HTTP) 40[134]\b|could not read Username|authentication failed|not found/i.test(
    withoutAddresses(words),
  )
    ? 'The token needs the permission "contents: read" for this repository (to publish: "contents: write").'
    : 'Check that the server can be reached.';
}

/** What people read when the server takes the token no more: what a job's or an App's token may do does not matter then. */
export const EXPIRED =
  "The token is not accepted: it has expired, was revoked, or is for another server. A GitHub App's token lasts one hour: create it in the same job right before this step, and keep `max-minutes` below 60 minus what comes before. `${{ github.token }}` ends with its job.";

/** True if git's words are about a token that the server does not know, as opposed to one that may not do this. */
export function isExpired(words: string): boolean {
  return /(returned error:|HTTP) 401\b|bad credentials|invalid (username|credentials)|authentication failed|could not read (Username|Password)/i.test(
    withoutAddresses(words),
  );
}

/** Git's words without the addresses in them: a port may contain 401, and a repository may be called `read-only`. */
export function withoutAddresses(words: string): string {
  return words.replaceAll(/'[a-z+]+:\/\/[^']*'|[a-z+]+:\/\/\S+/gi, '');
}

/** Whether git's words are about the way to the server or a breakdown of it (5xx), not about an answer. */
export function isUnreachable(words: string): boolean {
  return /could not resolve|couldn't resolve|(failed|unable|couldn't|could not) to connect|couldn't connect|connection (refused|reset|timed out|was closed)|recv failure|send failure|empty reply|operation timed out|network is unreachable|returned error: 5\d\d|RPC failed; (HTTP 5\d\d|curl \d)/i.test(
    words,
  );
}

/** Whether git's words are about a branch that is not where it was left. */
export function isMoved(words: string): boolean {
  return MOVED.test(words);
}

const MOVED = /non-fast-forward|fetch first|stale info|cannot lock ref|reference already exists|failed to update ref/i;

/** The end of commits that are not in the run's own folder any more: nobody else is to blame and nothing can be done. */
export const LOST_COMMITS =
  "The commits of this run are no longer in the run's own folder: the agent or another program on this machine removed or damaged it. What was pushed before is safe on the branch; re-run the workflow.";

const refusals: readonly { readonly pattern: RegExp; readonly meaning: string }[] = [
  {
    pattern: /refusing to allow .* to create or update workflow/is,
    meaning:
      'This token may not change files in .github/workflows, and GITHUB_TOKEN never may. Use the token of a GitHub App or a person with the "workflows" permission, or leave these files out of allow-protected-paths.',
  },
  {
    pattern: /GH006|GH013|protected branch|rule violations|ruleset/i,
    meaning:
      "A branch protection rule or ruleset of the repository forbids this push. Exempt the branches under branch-prefix, or the token's owner.",
  },
  { pattern: /GH008|unknown Git LFS object/i, meaning: 'The commits name git-lfs files that were never uploaded.' },
  {
    pattern: MOVED,
    meaning: 'The branch changed while this run worked. Nothing was overwritten; the next run continues from there.',
  },
  {
    pattern: /(returned error:|HTTP) 403\b|permission .*denied|read-only|write access .*not granted/is,
    meaning: 'The token may not push. The workflow needs "permissions: contents: write".',
  },
];
