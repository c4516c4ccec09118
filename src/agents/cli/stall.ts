import { MINUTE_MS } from '../../core/time.ts';
import type { CallEvent } from './call-event.ts';

/** A call of which nothing but retries has come since `since`; instants in ms. */
export interface Retrying {
  readonly since: number;
  /** Until then the CLI only waits before its next try. */
  readonly waitsUntil: number;
  /** See Retry. */
  readonly status: number | null;
  readonly cause: string | null;
}

/** What an event makes of it; null: the agent is at work. */
export function retryingAfter(retrying: Retrying | null, event: CallEvent, now: number): Retrying | null {
  if (event.kind === 'try') return retrying && { ...retrying, waitsUntil: now };
  if (event.kind !== 'retry') return null;
  const { status, cause, waitMs } = event.retry;
  // Who does not say how long it waits may wait for hours.
  return { since: retrying?.since ?? now, waitsUntil: now + (waitMs ?? Infinity), status, cause };
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
export function stallText({ status, cause }: Pick<Retrying, 'status' | 'cause'>, stallMs: number): string {
  const answer = status === null ? 'did not answer' : `answered HTTP ${String(status)}`;
  const named = cause === null || cause === 'unknown' || cause === '' ? '' : ` (${cause})`;
  return `The provider ${answer}${named}, and the CLI only retried for ${inMinutes(stallMs)}, so the call was ended.`;
}

function inMinutes(ms: number): string {
  const minutes = Math.max(0.1, Math.round((ms / MINUTE_MS) * 10) / 10);
  return minutes === 1 ? '1 minute' : `${String(minutes)} minutes`;
}
