import type { CallEvent } from './call-event.ts';

/** A CLI that has given its result may take so long to write down its conversation and exit. */
export const LINGER_MS = 45_000;

/** Watches one call for a CLI that has given its result and does not exit; to be ended with it. */
export interface LingerWatch {
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
