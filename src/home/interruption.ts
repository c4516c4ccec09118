/** How a person ends a run. */
export interface Interruption {
  /** Aborted by the first Ctrl-C: the run ends before the next iteration begins. Its reason is who asked. */
  readonly ending: AbortSignal;
  /** Aborted by the second Ctrl-C, or by SIGTERM or SIGHUP: the run ends at once. */
  readonly signal: AbortSignal;
  readonly stop: () => void;
}

const NOW_SIGNALS = ['SIGTERM', 'SIGHUP'] as const;

/** `say` tells the person what their Ctrl-C does; `giveUp` is called when a run does not end in time. */
export function listenForInterruption({
  say,
  giveUp,
  withinMs,
}: {
  readonly say: (text: string) => void;
  readonly giveUp: () => void;
  readonly withinMs: number;
}): Interruption {
  const ending = new AbortController();
  const now = new AbortController();
  const endNow = (why: string): void => {
    if (now.signal.aborted) return;
    say('Ending now. What is finished is kept.');
    now.abort(new Error(`the run was cancelled (${why})`));
    setTimeout(giveUp, withinMs).unref();
  };
  const onInterrupt = (): void => {
    if (ending.signal.aborted) {
      endNow('SIGINT');
      return;
    }
    say('Ending before the next iteration. Press Ctrl-C again to end now.');
    ending.abort('you (Ctrl-C)');
  };
  const onSignal = (name: NodeJS.Signals): void => {
    endNow(name);
  };
  process.on('SIGINT', onInterrupt);
  for (const name of NOW_SIGNALS) process.on(name, onSignal);
  return {
    ending: ending.signal,
    signal: now.signal,
    stop: () => {
      process.off('SIGINT', onInterrupt);
      for (const name of NOW_SIGNALS) process.off(name, onSignal);
    },
  };
}
