import type { ProviderFailure, ProviderSign } from '../../ports/broker.ts';
import type { CallEvent } from './call-event.ts';
import { retryingAfter, stallsAt, type Retrying } from './stall.ts';

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
