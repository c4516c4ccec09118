import { MINUTE_MS } from '../../core/countdown.ts';
import type { ProviderFailure, ProviderSign } from '../../ports/broker.ts';

/** What a call prints, as far as it matters while it runs. `line`: for who follows the job; empty: nothing. */
export type CallEvent =
  | { readonly kind: 'work'; readonly line: string }
  /** The CLI's own account of how the call ended: nothing more has to come. */
  | { readonly kind: 'result'; readonly line: string }
  /** Tasks that go on behind a result: how many there are, or how many more (`running` null). */
  | { readonly kind: 'tasks'; readonly line: ''; readonly running: number | null; readonly more: number }
  /** MCP servers that the agent was given and cannot use. */
  | { readonly kind: 'servers'; readonly line: ''; readonly failed: readonly string[] }
  /** A try is on its way to the provider: who waited before it waits no more. */
  | { readonly kind: 'try'; readonly line: '' }
  | { readonly kind: 'retry'; readonly line: string; readonly retry: Retry };

/** The CLI tries its provider again. */
interface Retry {
  /** HTTP status of the provider's last answer; null: there was none, or it is unknown. */
  readonly status: number | null;
  /** A name for it, or words; null: none are known. */
  readonly cause: string | null;
  /** How long it waits before its next try, in ms; null: it does not say. */
  readonly waitMs: number | null;
}

/** A call of which nothing but retries has come since `since`; instants in ms. */
export interface Retrying {
  readonly since: number;
  /** Until then the CLI only waits before its next try. */
  readonly waitsUntil: number;
  /** See Retry. */
  readonly status: number | null;
  readonly cause: string | null;
}

/** Watches one call for nothing but retries; to be ended with it. */
export interface StallWatch {
  /** What the CLI prints. */
  see(event: CallEvent): void;
  /** What its provider does. */
  hear(sign: ProviderSign): void;
  /** Aborted when the call has stalled. */
  readonly signal: AbortSignal;
  /** What came last of a call that has stalled; null: it has not. */
  stalled(): Retrying | null;
  /** Until when the provider asked to wait (ms), if that was its last answer; null: it did not. */
  retryAt(): number | null;
  end(): void;
}

/** `tellsRetries`: see AgentCli. Of a CLI that does, its provider's signs are only the words for what it says. */
export function createStallWatch({
  stallMs,
  now,
  tellsRetries,
}: {
  readonly stallMs: number;
  readonly now: () => number;
  readonly tellsRetries: boolean;
}): StallWatch {
  const stall = new AbortController();
  let retrying: Retrying | null = null;
  let failure: (Pick<ProviderFailure, 'status' | 'words'> & { readonly retryAt: number | null }) | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  return {
    see,
    hear: (sign) => {
      // What ends with the call says nothing of the provider.
      if (stall.signal.aborted || isOver) return;
      if (sign.kind === 'answered') failure = null;
      else if (sign.kind === 'failed')
        failure = { ...sign, retryAt: sign.waitMs === null ? null : now() + sign.waitMs };
      if (!tellsRetries) see(eventOf(sign));
    },
    signal: stall.signal,
    stalled: () => {
      if (!stall.signal.aborted || retrying === null) return null;
      return failure === null
        ? retrying
        : { ...retrying, status: failure.status, cause: failure.words ?? retrying.cause };
    },
    retryAt: () => failure?.retryAt ?? null,
    end: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };

  function see(event: CallEvent): void {
    // What is printed while it is being ended changes nothing, and what is read behind its end starts no timer.
    if (stall.signal.aborted || isOver) return;
    clearTimeout(timer);
    const at = now();
    retrying = retryingAfter(retrying, event, at);
    const deadline = stallsAt(retrying, stallMs);
    if (deadline === null) return;
    timer = setTimeout(
      () => {
        stall.abort();
      },
      Math.max(0, deadline - at),
    );
  }
}

/** The provider's sign in place of what the CLI does not print. */
function eventOf(sign: ProviderSign): CallEvent {
  switch (sign.kind) {
    case 'asked':
      return { kind: 'try', line: '' };
    case 'answered':
      return { kind: 'work', line: '' };
    case 'failed':
      // How long the CLI waits is its own choice.
      return { kind: 'retry', line: '', retry: { status: sign.status, cause: sign.words, waitMs: null } };
  }
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

/** A CLI that has given its result may take so long to write down its conversation and exit. */
export const LINGER_MS = 45_000;

/** Watches one call for a CLI that has given its result and does not exit; to be ended with it. */
interface LingerWatch {
  see(event: CallEvent): void;
  /** Aborted when the result was given `lingerMs` ago, and nothing is under way. */
  readonly signal: AbortSignal;
  end(): void;
}

/** What comes behind a result begins another turn, whose own result then counts. While tasks run in the background the CLI waits for them. */
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
