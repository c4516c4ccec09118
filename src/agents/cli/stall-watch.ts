import { MINUTE_MS } from '../../core/countdown.ts';
import type { ProviderFailure, ProviderSign } from '../../ports/broker.ts';

/** An event of a call's output that matters while it runs. `line` is for people who follow the job, or empty. */
export type CallEvent =
  | { readonly kind: 'work'; readonly line: string }
  /** The CLI's own report of how the call ended; the CLI need not print anything after it. */
  | { readonly kind: 'result'; readonly line: string }
  /**
   * Tasks that continue after a result: `running` is their number; if it is null, `more` is the change of that number.
   */
  | { readonly kind: 'tasks'; readonly line: ''; readonly running: number | null; readonly more: number }
  /** MCP servers that the agent was given and cannot use. */
  | { readonly kind: 'servers'; readonly line: ''; readonly failed: readonly string[] }
  /** The wait is over, and an attempt is on its way to the provider. */
  | { readonly kind: 'try'; readonly line: '' }
  | { readonly kind: 'retry'; readonly line: string; readonly retry: Retry };

/** A retry of the CLI at its provider. */
interface Retry {
  /** HTTP status of the provider's last answer; null if none, or it is unknown. */
  readonly status: number | null;
  /** Name or description of the cause; null if it is unknown. */
  readonly cause: string | null;
  /** Time in ms before the CLI's next attempt; null if that is not reported. */
  readonly waitMs: number | null;
}

/** A call that has only retried since `since`; instants in ms. */
export interface RetryingCall {
  readonly since: number;
  /** The instant until which the CLI only waits before its next attempt. */
  readonly waitsUntil: number;
  /** HTTP status of the last answer; see Retry. */
  readonly status: number | null;
  /** Cause of the last retry; see Retry. */
  readonly cause: string | null;
}

/** `retryAt` is an instant in ms; null if the provider named no wait. */
type LastFailure = Pick<ProviderFailure, 'status' | 'words'> & { readonly retryAt: number | null };

/** Watches whether one call only retries; must be ended with the call. */
export interface StallWatch {
  /** Handles an event of the CLI's output. */
  see(event: CallEvent): void;
  /** Handles a sign that the provider answers or fails. */
  hear(sign: ProviderSign): void;
  /** Aborted if the call has stalled. */
  readonly signal: AbortSignal;
  /** Returns the last retry of a call that has stalled, or null. */
  stalled(): RetryingCall | null;
  /** Returns the provider's last answer if it was a failure, with the instant until which it asked to wait, or null. */
  failure(): LastFailure | null;
  end(): void;
}

/**
 * Creates a watch that ends a call which has only retried for `stallMs`. If the CLI prints its retries
 * (`printsRetries`), the provider's own signs only supply the words.
 */
export function createStallWatch({
  stallMs,
  now,
  printsRetries,
}: {
  readonly stallMs: number;
  readonly now: () => number;
  readonly printsRetries: boolean;
}): StallWatch {
  const stall = new AbortController();
  let retrying: RetryingCall | null = null;
  let failure: LastFailure | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  return {
    see,
    hear: (sign) => {
      // Ignore requests that end with the call: they say nothing about the provider.
      if (stall.signal.aborted || isOver) return;
      if (sign.kind === 'answered') failure = null;
      else if (sign.kind === 'failed')
        failure = { ...sign, retryAt: sign.waitMs === null ? null : now() + sign.waitMs };
      if (!printsRetries) see(eventOf(sign));
    },
    signal: stall.signal,
    stalled: () => {
      if (!stall.signal.aborted || retrying === null) return null;
      return failure === null
        ? retrying
        : { ...retrying, status: failure.status, cause: failure.words ?? retrying.cause };
    },
    failure: () => failure,
    end: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };

  function see(event: CallEvent): void {
    // Ignore output while the call is being ended, and start no timer for output that is read after its end.
    if (stall.signal.aborted || isOver) return;
    clearTimeout(timer);
    const at = now();
    retrying = trackRetrying(retrying, event, at);
    const deadline = computeStallInstant(retrying, stallMs);
    if (deadline === null) return;
    timer = setTimeout(
      () => {
        stall.abort();
      },
      Math.max(0, deadline - at),
    );
  }
}

/** Converts the provider's sign to the event that the CLI itself does not print. */
function eventOf(sign: ProviderSign): CallEvent {
  switch (sign.kind) {
    case 'asked':
      return { kind: 'try', line: '' };
    case 'answered':
      return { kind: 'work', line: '' };
    case 'failed':
      // The CLI chooses how long it waits, so the wait is unknown.
      return { kind: 'retry', line: '', retry: { status: sign.status, cause: sign.words, waitMs: null } };
  }
}

/** Returns the retrying state after an event; null if the agent is at work. */
export function trackRetrying(retrying: RetryingCall | null, event: CallEvent, now: number): RetryingCall | null {
  if (event.kind === 'try') return retrying && { ...retrying, waitsUntil: now };
  if (event.kind !== 'retry') return null;
  const { status, cause, waitMs } = event.retry;
  // Assume an endless wait if none is reported, because a CLI may wait for hours.
  return { since: retrying?.since ?? now, waitsUntil: now + (waitMs ?? Infinity), status, cause };
}

/**
 * Returns the instant at which the call has stalled unless another event comes first; a past instant means now. null
 * means that only the next event can decide, since a slow model may still answer the current attempt.
 */
export function computeStallInstant(retrying: RetryingCall | null, stallMs: number): number | null {
  if (retrying === null) return null;
  const deadline = retrying.since + stallMs;
  return retrying.waitsUntil >= deadline ? deadline : null;
}

/** Describes a stalled call as a failure. */
export function describeStall({ status, cause }: Pick<RetryingCall, 'status' | 'cause'>, stallMs: number): string {
  const answer = status === null ? 'did not answer' : `answered HTTP ${String(status)}`;
  const named = cause === null || cause === 'unknown' || cause === '' ? '' : ` (${cause})`;
  return `The provider ${answer}${named}, and the CLI only retried for ${inMinutes(stallMs)}, so the call was ended.`;
}

function inMinutes(ms: number): string {
  const minutes = Math.max(0.1, Math.round((ms / MINUTE_MS) * 10) / 10);
  return minutes === 1 ? '1 minute' : `${String(minutes)} minutes`;
}

/** Time in ms for a CLI that has given its result to write its session and exit. */
export const LINGER_MS = 45_000;

/** Watches one call for a CLI that has given its result and does not exit; must be ended with the call. */
interface LingerWatch {
  see(event: CallEvent): void;
  /** Aborted if the result was given `lingerMs` ago, and nothing is in progress. */
  readonly signal: AbortSignal;
  end(): void;
}

/**
 * Creates a watch that ends a CLI which does not exit within `lingerMs` after its result. Output after a result begins
 * another turn, and the time starts again with the result of that turn; tasks in the background are waited for.
 */
export function createLingerWatch(lingerMs: number): LingerWatch {
  const lingered = new AbortController();
  let hasResult = false;
  let tasks = 0;
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  return {
    see: (event) => {
      if (isOver) return;
      if (event.kind === 'tasks') tasks = Math.max(0, event.running ?? tasks + event.more);
      else if (event.kind !== 'servers') hasResult = event.kind === 'result';
      clearTimeout(timer);
      if (!hasResult || tasks > 0) return;
      timer = setTimeout(() => {
        lingered.abort();
      }, lingerMs);
    },
    signal: lingered.signal,
    end: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
