import { z } from 'zod';
import type { Analysis } from '../analysis/analysis.ts';
import type { Evidence } from '../evidence.ts';
import type { Immutable } from '../immutable.ts';
import { count } from '../numbers.ts';
import { askedAgent } from '../pipeline/step-record.ts';

/** Iterations that a window reaches back. */
export const WINDOW_SIZE = 5;

export const signalsSchema = z.object({
  /** Completion indicators. */
  indicators: z.array(z.boolean()).max(WINDOW_SIZE),
  /** EXIT_SIGNAL true that evidence overruled and that did not even finish its own task. */
  vetoed: z.array(z.boolean()).max(WINDOW_SIZE),
  /** Characters of the final messages. */
  outputChars: z.array(count).max(WINDOW_SIZE),
  /** Streaks that end at the newest iteration. */
  doneInARow: count,
  blockedInARow: count,
  testOnlyInARow: count,
});

/** Rolling windows over the lane's last five iterations, newest last. */
export type Signals = Immutable<z.infer<typeof signalsSchema>>;

export const noSignals: Signals = {
  indicators: [],
  vetoed: [],
  outputChars: [],
  doneInARow: 0,
  blockedInARow: 0,
  testOnlyInARow: 0,
};

/** What one iteration adds to the rolling windows. */
export interface IterationSignals {
  /** Claims that everything is done, and nothing speaks against it. */
  readonly indicator: boolean;
  /** The same, without an explicit EXIT_SIGNAL false. */
  readonly done: boolean;
  readonly vetoed: boolean;
  readonly blocked: boolean;
  readonly testOnly: boolean;
  /** Characters of the final message; null when the agent did not get to one. */
  readonly outputChars: number | null;
}

/** The windows and streaks after one more iteration. */
export function pushSignals(signals: Signals, iteration: IterationSignals): Signals {
  return {
    indicators: [...signals.indicators, iteration.indicator].slice(-WINDOW_SIZE),
    vetoed: [...signals.vetoed, iteration.vetoed].slice(-WINDOW_SIZE),
    outputChars:
      iteration.outputChars === null
        ? signals.outputChars
        : [...signals.outputChars, iteration.outputChars].slice(-WINDOW_SIZE),
    doneInARow: iteration.done ? signals.doneInARow + 1 : 0,
    blockedInARow: iteration.blocked ? signals.blockedInARow + 1 : 0,
    testOnlyInARow: iteration.testOnly ? signals.testOnlyInARow + 1 : 0,
  };
}

/** Whether the agent's call came to an answer of its own. */
export function answered({
  analysis,
  evidence: { end, steps },
}: {
  readonly analysis: Pick<Analysis, 'agentError'>;
  readonly evidence: Pick<Evidence, 'end' | 'steps'>;
}): boolean {
  return end.kind === 'exited' && end.code === 0 && analysis.agentError === null && askedAgent(steps);
}

/** Whether `chars` is shorter than (100 − `percent`) % of the median of the window before it. */
export function outputDeclined(signals: Signals, chars: number, percent: number): boolean {
  const median = medianOf(signals.outputChars);
  return median !== null && chars * 100 < median * (100 - percent);
}

/** How often a flag is set in a window. */
export function countSet(window: readonly boolean[]): number {
  return window.filter(Boolean).length;
}

function medianOf(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const high = sorted[Math.floor(sorted.length / 2)];
  const low = sorted[Math.floor((sorted.length - 1) / 2)];
  return high === undefined || low === undefined ? null : (high + low) / 2;
}
