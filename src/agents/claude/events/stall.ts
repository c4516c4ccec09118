import type { AgentError } from '../../../core/analysis/analysis.ts';
import { MINUTE_MS } from '../../../core/time.ts';
import type { Failure } from './cli-event.ts';
import type { StreamEvent } from './stream-event.ts';
import { classifyFailure } from './failure.ts';

/** A call of which nothing but retries has come since `since`; instants in ms. */
export interface Retrying {
  readonly since: number;
  /** Until then the CLI only waits before its next try. */
  readonly waitsUntil: number;
  /** The provider's last answer: its HTTP status and the CLI's name for it; null: there was none. */
  readonly status: number | null;
  readonly error: string | null;
}

/** What an event makes of it; null: the agent is at work. */
export function retryingAfter(retrying: Retrying | null, event: StreamEvent, now: number): Retrying | null {
  if (event.kind !== 'retry') return null;
  const { status, error, delayMs } = event;
  return { since: retrying?.since ?? now, waitsUntil: now + delayMs, status, error };
}

/**
 * When the call has stalled unless another event comes first; an instant that has passed: now. null: only the next event
 * can tell, since a try that is under way may be one that is answered, by a model that is slow.
 */
export function stallsAt(retrying: Retrying | null, stallMs: number): number | null {
  if (retrying === null) return null;
  const deadline = retrying.since + stallMs;
  return retrying.waitsUntil >= deadline ? deadline : null;
}

/** The failure that the CLI would have reported in the end. */
export function stallFailure({ status, error }: Pick<Retrying, 'status' | 'error'>, stallMs: number): Failure {
  const answer = status === null ? 'did not answer' : `answered HTTP ${String(status)}`;
  const named = error === null || error === 'unknown' || !NAME.test(error) ? '' : ` (${error})`;
  const text = `The provider ${answer}${named}, and the CLI only retried for ${inMinutes(stallMs)}, so the call was ended.`;
  return { text, subtype: null, error, apiError: null, terminalReason: null, status };
}

/** Names that failure as the CLI's own; one that says no more is the provider's. */
export function classifyStall(failure: Failure): AgentError {
  const { kind, text } = classifyFailure(failure);
  return { kind: kind === 'other' ? 'server' : kind, text };
}

/** Of an error, such as `rate_limit`. */
const NAME = /^\w{1,40}$/;

function inMinutes(ms: number): string {
  const minutes = Math.max(0.1, Math.round((ms / MINUTE_MS) * 10) / 10);
  return minutes === 1 ? '1 minute' : `${String(minutes)} minutes`;
}
