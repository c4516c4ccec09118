import { MIN_CALL_MS } from '../lane/decide.ts';
import { usedUp, type Windows } from '../lane/windows.ts';
import type { Policy } from '../policy.ts';

/** What a run has used when a step would call the agent. Instants in ms. */
interface Used {
  readonly windows: Windows;
  readonly startedAt: number;
  /** Of this run, those of the running iteration included. */
  readonly calls: number;
  readonly costUsd: number;
}

/** Why no call may be made now, as words; null: one may be. The limits of `nextStep`, asked between the steps of an iteration. */
export function callObstacle({ windows, startedAt, calls, costUsd }: Used, policy: Policy, now: number): string | null {
  const window = usedUp(windows, policy, now);
  if (window !== null) return `its limit is reached (${window.reason})`;
  if (policy.maxCalls > 0 && calls >= policy.maxCalls) return 'the run has no calls left';
  if (policy.maxCostUsd > 0 && costUsd >= policy.maxCostUsd) return 'the run has no money left';
  return startedAt + policy.maxRunMs - now < MIN_CALL_MS ? 'the run has no time left' : null;
}
