import type { Outcome } from '../core/outcome.ts';
import { messageOf, UserError } from '../errors.ts';
import { sentence } from '../core/text/sentence.ts';

export type Failure = Extract<Outcome, { readonly kind: 'failed' }>;

/** What the log says where a failure could not be notified of; what stops the notification is often the failure itself. */
export function unnotified(failure: Failure, error: unknown): string {
  const why = messageOf(error);
  return why === failure.message
    ? 'Nobody could be notified of this failure.'
    : `Nobody could be notified of this failure: ${sentence(why)}`;
}

/** An error as an outcome. What is not a UserError is ours or the machine's: its stack is shown by debug logging alone. */
export function failureOf(error: unknown, debug: (text: string) => void): Failure {
  if (error instanceof UserError) return { kind: 'failed', reason: error.kind, message: error.message };
  if (error instanceof Error && error.stack !== undefined) debug(error.stack);
  return { kind: 'failed', reason: 'infrastructure', message: `Unexpected failure: ${sentence(messageOf(error))}` };
}
