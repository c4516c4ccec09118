import { MIN_CALL_MS } from '../lane/decide.ts';
import { exhaustedWindow, type Windows } from '../lane/windows.ts';
import type { Policy } from '../policy.ts';
import { createGlob } from '../text/glob.ts';
import { firstNames } from '../text/phrase.ts';

/** The usage of a run when a step is about to call the agent. Instants in ms. */
interface Used {
  readonly windows: Windows;
  readonly startedAt: number;
  /** Calls of this run, including those of the current iteration. */
  readonly calls: number;
  readonly costUsd: number;
}

/** The facts that a README check uses. */
interface ReadmeFacts {
  readonly path: string;
  readonly exists: boolean;
  readonly patterns: readonly string[];
  /** Paths that this iteration has changed so far. */
  readonly changed: readonly string[];
}

const MAX_NAMED = 5;

/** Returns why the README needs an update; null if it does not. It does if it is missing, or if matching files other than tests changed and it did not. */
export function readmeProblem({ path, exists, patterns, changed }: ReadmeFacts): string | null {
  if (!exists) return `${path} does not exist`;
  if (changed.includes(path)) return null;
  const isMatched = patterns.map(createGlob);
  const significant = changed.filter((file) => !TEST_NAME.test(file) && isMatched.some((matches) => matches(file)));
  return significant.length === 0
    ? null
    : `${path} was not changed together with ${firstNames(significant, MAX_NAMED)}`;
}

const TEST_NAME = /(?:_test\.[^/]+|\.(?:test|spec)\.[^/]+)$/;

/** Returns why no call may be made now, in words; null if one may be. These are the limits of `nextStep`, checked between the steps of an iteration. */
export function callObstacle({ windows, startedAt, calls, costUsd }: Used, policy: Policy, now: number): string | null {
  const window = exhaustedWindow(windows, policy, now);
  if (window !== null) return `its limit is reached (${window.reason})`;
  if (policy.maxCalls > 0 && calls >= policy.maxCalls) return 'the run has no calls left';
  if (policy.maxCostUsd > 0 && costUsd >= policy.maxCostUsd) return 'the run has no money left';
  return startedAt + policy.maxRunMs - now < MIN_CALL_MS ? 'the run has no time left' : null;
}
