import { describe, expect, test } from 'vitest';
import { conclude, describeOutcome, exitCode, type Outcome, type OutcomeKind } from '../../src/core/outcome.ts';

const at = Date.parse('2026-11-21T17:05:00Z');
const circuit = (tripped: 'this-run' | 'earlier'): Outcome => ({ kind: 'halted', reason: 'circuit_open', circuitReason: 'no_progress', tripped, probeAt: at });

/** Every end, its conclusion and exit code with the default `fail-on`, and what its sentence must hold. */
const ends: readonly (readonly [Outcome, 'success' | 'failure', 0 | 1 | 2, string])[] = [
  [{ kind: 'cancelled', reason: 'signal' }, 'success', 0, 'cancelled'],
  [{ kind: 'cancelled', reason: 'killed' }, 'success', 0, 'killed'],
  [{ kind: 'complete', reason: 'project_complete' }, 'success', 0, 'Review'],
  [{ kind: 'complete', reason: 'completion_signals' }, 'success', 0, 'Review'],
  [{ kind: 'complete', reason: 'plan_complete' }, 'success', 0, 'Every required task is done'],
  [{ kind: 'halted', reason: 'permission_denied' }, 'failure', 1, 'allowed-tools'],
  [{ kind: 'halted', reason: 'test_saturation' }, 'failure', 1, 'tests'],
  [{ kind: 'halted', reason: 'safety' }, 'failure', 1, 'evidence'],
  [circuit('this-run'), 'failure', 1, 'after 2026-11-21 17:05 UTC probes'],
  [circuit('earlier'), 'success', 0, 'no call was made'],
  [{ kind: 'blocked', reason: 'needs_human' }, 'success', 0, 'person'],
  [{ kind: 'parked', reason: 'calls_per_hour', resumeAt: at }, 'success', 0, 'max-calls-per-hour'],
  [{ kind: 'parked', reason: 'tokens_per_hour', resumeAt: at }, 'success', 0, 'max-tokens-per-hour'],
  [{ kind: 'parked', reason: 'cost_per_day', resumeAt: at }, 'success', 0, 'max-cost-usd-per-day'],
  [{ kind: 'parked', reason: 'usage_limit', resumeAt: at }, 'success', 0, 'resume at 2026-11-21 17:05 UTC'],
  [{ kind: 'limit', reason: 'iterations' }, 'success', 0, 'max-iterations'],
  [{ kind: 'limit', reason: 'minutes' }, 'success', 0, 'max-minutes'],
  [{ kind: 'limit', reason: 'cost' }, 'success', 0, 'max-cost-usd'],
  [{ kind: 'idle', reason: 'no_tasks' }, 'success', 0, 'Label an issue'],
  [{ kind: 'idle', reason: 'all_done' }, 'success', 0, 'pull request'],
  [{ kind: 'idle', reason: 'not_for_us' }, 'success', 0, 'not for Ralph'],
  [{ kind: 'idle', reason: 'answered' }, 'success', 0, 'answered'],
  [{ kind: 'paused', reason: 'by_person', by: 'octocat' }, 'success', 0, 'octocat'],
  [{ kind: 'refused', reason: 'not_allowed', message: 'octocat may not' }, 'success', 0, 'octocat may not'],
  [{ kind: 'refused', reason: 'another_run', message: 'run 7 is at work' }, 'success', 0, 'run 7'],
  [{ kind: 'failed', reason: 'configuration', message: 'no key' }, 'failure', 2, 'no key'],
  [{ kind: 'failed', reason: 'infrastructure', message: 'no network' }, 'failure', 1, 'no network'],
];
const defaults: readonly OutcomeKind[] = ['halted', 'failed'];

test.each(ends.map(([outcome, conclusion, code, words]) => ({ outcome, name: `${outcome.kind} (${outcome.reason})`, conclusion, code, words })))('$name is a $conclusion, exit code $code, told with "$words"', ({ outcome, conclusion, code, words }) => {
  expect(conclude(outcome, defaults)).toBe(conclusion);
  expect(exitCode(outcome, defaults)).toBe(code);
  expect(describeOutcome(outcome)).toContain(words);
});

describe('fail-on', () => {
  test('an empty list makes nothing red', () => {
    expect(ends.filter(([outcome]) => conclude(outcome, []) === 'failure')).toEqual([]);
    expect(exitCode({ kind: 'failed', reason: 'configuration', message: 'x' }, [])).toBe(0);
  });

  test('may name any kind', () => {
    expect(conclude({ kind: 'limit', reason: 'iterations' }, ['limit'])).toBe('failure');
    expect(conclude({ kind: 'blocked', reason: 'needs_human' }, ['blocked'])).toBe('failure');
  });
});
