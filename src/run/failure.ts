import type { Outcome } from '../core/outcome.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { getErrorMessage, UserError } from '../errors.ts';

export type FailedOutcome = Extract<Outcome, { readonly kind: 'failed' }>;

/** Returns the log line for a failure of which people could not be notified, often because of the failure itself. */
export function renderUnnotified(failure: FailedOutcome, error: unknown): string {
  const why = getErrorMessage(error);
  return why === failure.message
    ? 'Nobody could be notified of this failure.'
    : `Nobody could be notified of this failure: ${completeSentence(why)}`;
}

/** Node's and git's words for a disk that has no room. */
const DISK_FULL = /\b(?:ENOSPC|EDQUOT)\b|no space left on device|disk quota exceeded/i;

/**
 * Turns an error into an outcome. An error that is not a UserError is a defect or a machine failure, whose stack only
 * debug logging shows.
 */
export function convertErrorToOutcome(error: unknown, debug: (text: string) => void): FailedOutcome {
  const words = completeSentence(getErrorMessage(error));
  const isFull = DISK_FULL.test(words);
  const known = error instanceof UserError ? error.kind : null;
  if (known === null && error instanceof Error && error.stack !== undefined) debug(error.stack);
  const message = error instanceof UserError ? error.message : isFull ? words : `Unexpected failure: ${words}`;
  return { kind: 'failed', reason: known ?? 'infrastructure', message: isFull ? `${FULL} ${message}` : message };
}

const FULL = "The runner's disk is full. Free space in a step before this one, or use a runner with a larger disk.";
