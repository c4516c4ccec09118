import type { CallEvent } from './call-event.ts';
import { retryingAfter, stallsAt, type Retrying } from './stall.ts';

/** Watches one call for nothing but retries; to be ended with it. */
export interface StallWatch {
  see(event: CallEvent): void;
  /** Aborted when the call has stalled. */
  readonly signal: AbortSignal;
  /** What came last of a call that has stalled; null: it has not. */
  stalled(): Retrying | null;
  end(): void;
}

export function createStallWatch({
  stallMs,
  now,
}: {
  readonly stallMs: number;
  readonly now: () => number;
}): StallWatch {
  const stall = new AbortController();
  let retrying: Retrying | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  return {
    see: (event) => {
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
    },
    signal: stall.signal,
    stalled: () => (stall.signal.aborted ? retrying : null),
    end: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
