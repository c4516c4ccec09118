import { describe, expect, test } from 'vitest';
import { verificationKinds, verificationSchema } from '../../../src/core/evidence.ts';
import {
  deriveConclusion,
  type Outcome,
  type OutcomeKind,
  outcomeKinds,
  outcomeSchema,
} from '../../../src/core/outcome.ts';

const at = Date.parse('2026-11-21T17:05:00Z');
const circuit = (tripped: 'this-run' | 'earlier'): Outcome => ({
  kind: 'halted',
  reason: 'circuit_open',
  circuitReason: 'no_progress',
  tripped,
  probeAt: at,
});

/** Every end and its conclusion with the default `fail-on`. */
const ends: readonly (readonly [Outcome, 'success' | 'failure'])[] = [
  [{ kind: 'cancelled', reason: 'signal' }, 'success'],
  [{ kind: 'cancelled', reason: 'killed' }, 'success'],
  [{ kind: 'complete', reason: 'project_complete' }, 'success'],
  [{ kind: 'complete', reason: 'completion_signals' }, 'success'],
  [{ kind: 'complete', reason: 'plan_complete' }, 'success'],
  [{ kind: 'halted', reason: 'permission_denied' }, 'failure'],
  [{ kind: 'halted', reason: 'test_saturation' }, 'failure'],
  [{ kind: 'halted', reason: 'safety' }, 'failure'],
  [circuit('this-run'), 'failure'],
  [circuit('earlier'), 'success'],
  [{ kind: 'blocked', reason: 'needs_human' }, 'success'],
  [{ kind: 'parked', reason: 'calls_per_hour', resumeAt: at }, 'success'],
  [{ kind: 'parked', reason: 'tokens_per_hour', resumeAt: at }, 'success'],
  [{ kind: 'parked', reason: 'cost_per_day', resumeAt: at }, 'success'],
  [{ kind: 'parked', reason: 'usage_limit', resumeAt: at }, 'success'],
  [{ kind: 'parked', reason: 'step_circuit', resumeAt: at, step: null }, 'success'],
  [{ kind: 'limit', reason: 'iterations' }, 'success'],
  [{ kind: 'limit', reason: 'minutes' }, 'success'],
  [{ kind: 'limit', reason: 'cost' }, 'success'],
  [{ kind: 'idle', reason: 'no_tasks' }, 'success'],
  [{ kind: 'idle', reason: 'all_done' }, 'success'],
  [{ kind: 'idle', reason: 'not_for_us' }, 'success'],
  [{ kind: 'idle', reason: 'answered' }, 'success'],
  [{ kind: 'paused', reason: 'by_person', by: 'octocat' }, 'success'],
  [{ kind: 'refused', reason: 'not_allowed', message: 'octocat may not' }, 'success'],
  [{ kind: 'refused', reason: 'another_run', message: 'run 7 is at work' }, 'success'],
  [{ kind: 'failed', reason: 'configuration', message: 'no key' }, 'failure'],
  [{ kind: 'failed', reason: 'infrastructure', message: 'no network' }, 'failure'],
];
const defaults: readonly OutcomeKind[] = ['halted', 'failed'];

test.each(ends.map(([outcome, conclusion]) => ({ outcome, name: `${outcome.kind} (${outcome.reason})`, conclusion })))(
  '$name is a $conclusion',
  ({ outcome, conclusion }) => {
    expect(deriveConclusion(outcome, defaults)).toBe(conclusion);
  },
);

describe('fail-on', () => {
  test('an empty list makes nothing red', () => {
    expect(ends.filter(([outcome]) => deriveConclusion(outcome, []) === 'failure')).toEqual([]);
  });

  test('may name any kind', () => {
    expect(deriveConclusion({ kind: 'limit', reason: 'iterations' }, ['limit'])).toBe('failure');
    expect(deriveConclusion({ kind: 'blocked', reason: 'needs_human' }, ['blocked'])).toBe('failure');
  });
});

test.each([
  ['an outcome', outcomeKinds, outcomeSchema.unwrap().options],
  ['a verification', verificationKinds, verificationSchema.unwrap().options],
])('the kinds of %s are those of its schema', (_, kinds, options) => {
  expect([...kinds]).toEqual([...new Set(options.map(({ shape }) => shape.kind.value))]);
});
