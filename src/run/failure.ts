import type { Outcome } from '../core/outcome.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { messageOf, UserError } from '../errors.ts';

export type FailedOutcome = Extract<Outcome, { readonly kind: 'failed' }>;

/**
 * Returns the log line for a failure that people could not be notified of. The failure itself is often what stops the
 * notification.
 */
export function unnotifiedLine(failure: FailedOutcome, error: unknown): string {
  const why = messageOf(error);
  return why === failure.message
    ? 'Nobody could be notified of this failure.'
    : `Nobody could be notified of this failure: ${completeSentence(why)}`;
}

/**
 * Turns an error into an outcome. An error that is not a UserError is a defect or a machine failure, whose stack only
 * debug logging shows.
 */
export function failureOf(error: unknown, debug: (text: string) => void): FailedOutcome {
  if (error instanceof UserError) return { kind: 'failed', reason: error.kind, message: error.message };
  if (error instanceof Error && error.stack !== undefined) debug(error.stack);
  return {
    kind: 'failed',
    reason: 'infrastructure',
    message: `Unexpected failure: ${completeSentence(messageOf(error))}`,
  };
}
