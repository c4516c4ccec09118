import { describe, expect, test } from 'vitest';
import type { AgentError } from '../../../../src/core/analysis/analysis.ts';
import { resetUnfitSession, keepSession } from '../../../../src/core/lane/session.ts';
import { endRun, settleIteration } from '../../../../src/core/lane/settle/settle.ts';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import { analysis, evidence, HOUR, MINUTE, noon, play, policy, task } from '../core-fixtures.ts';

const session = { id: 'abc-1', startedAt: noon - 30 * HOUR, lastUsedAt: noon, taskId: 'issue-1' };
const state: LaneState = { ...createInitialState('queue', noon), session };
const reasonOf = (next: LaneState): string | undefined => next.transitions.at(-1)?.reason;

const uses: readonly (readonly [string, typeof policy, string, number, string])[] = [
  ['idle for 23 h 59 min', policy, 'issue-1', 24 * HOUR - MINUTE, 'resumed'],
  ['idle for 24 h', policy, 'issue-1', 24 * HOUR, 'expired'],
  ['on another task', policy, 'issue-2', 0, 'resumed'],
  ['on another task with session: task', { ...policy, session: 'task' }, 'issue-2', 0, 'task_changed'],
  ['on the same task with session: task', { ...policy, session: 'task' }, 'issue-1', 0, 'resumed'],
  ['with session: fresh', { ...policy, session: 'fresh' }, 'issue-1', 0, 'session_fresh'],
  ['last used in the future', policy, 'issue-1', -5 * HOUR, 'resumed'],
];
test.each(uses.map(([name, bounds, taskId, later, expected]) => ({ name, bounds, taskId, later, expected })))(
  'a session $name → $expected',
  ({ bounds, taskId, later, expected }) => {
    const next = resetUnfitSession(state, taskId, bounds, noon + later);
    expect(next.session === null ? reasonOf(next) : 'resumed').toBe(expected);
  },
);

describe('after a call', () => {
  const call = (change: Parameters<typeof analysis>[0]) => ({
    analysis: analysis(change),
    taskId: 'issue-1',
    agentFailed: false,
  });
  const failed = (kind: AgentError['kind']): { agentError: AgentError } => ({ agentError: { kind, text: 'x' } });

  test('the same session keeps its start', () => {
    expect(keepSession(state, call({ sessionId: 'abc-1' }), policy, noon + MINUTE).session).toEqual({
      ...session,
      lastUsedAt: noon + MINUTE,
    });
  });

  test('another id is a new session', () => {
    expect(keepSession(state, call({ sessionId: 'new-2' }), policy, noon + MINUTE).session).toEqual({
      id: 'new-2',
      startedAt: noon + MINUTE,
      lastUsedAt: noon + MINUTE,
      taskId: 'issue-1',
    });
  });

  test('an output cut off before the id keeps what was resumed', () => {
    expect(keepSession(state, call({ sessionId: null }), policy, noon).session).toEqual(session);
  });

  test.each([
    ['unknown-session', 'unknown_session'],
    ['prompt-too-long', 'prompt_too_long'],
  ] as const)('%s drops the session, and the state says why', (kind, reason) => {
    const next = keepSession(state, call(failed(kind)), policy, noon);
    expect(next.session).toBeNull();
    expect(next.transitions).toEqual([{ at: noon, subject: 'session', from: 'active', to: 'none', reason }]);
    expect(keepSession(next, call(failed(kind)), policy, noon)).toBe(next);
  });

  test.each(['--flag', '../../etc', 'a b', '', 'x'.repeat(300)])('an id like %j is not kept', (sessionId) => {
    expect(keepSession({ ...state, session: null }, call({ sessionId }), policy, noon).session).toBeNull();
  });

  test('session: fresh keeps none', () => {
    expect(
      keepSession({ ...state, session: null }, call({}), { ...policy, session: 'fresh' }, noon).session,
    ).toBeNull();
  });
});

test('an id that the CLI does not know costs neither an attempt nor a count of the circuit, once', () => {
  const unknown = {
    output: { agentError: { kind: 'unknown-session' as const, text: 'No conversation found' }, sessionId: null },
  };
  const first = play([unknown], { state });
  expect(first.state.session).toBeNull();
  expect(first.state.circuit).toMatchObject({ kind: 'closed', noProgress: 0 });
  expect(first.state.tasks['issue-1']?.attempts).toBe(0);
  expect(first.step.kind).toBe('iterate');

  const again = play([unknown, unknown], { state });
  expect(again.state.circuit).toMatchObject({ kind: 'closed', noProgress: 0, agentFailures: 1 });
});

test('it is reset when the circuit opens', () => {
  const { state: next } = play([{}, {}, {}], { state });
  expect(next.circuit.kind).toBe('open');
  expect(next.session).toBeNull();
  expect(reasonOf(next)).toBe('circuit_opened');
});

test.each([
  [{ kind: 'complete', reason: 'plan_complete' } as const, true],
  [{ kind: 'cancelled', reason: 'signal' } as const, true],
  [{ kind: 'cancelled', reason: 'killed' } as const, false],
  [{ kind: 'limit', reason: 'iterations' } as const, false],
  [{ kind: 'parked', reason: 'usage_limit', resumeAt: noon + HOUR } as const, false],
])('%j at the end of a run resets it: %s', (outcome, isReset) => {
  expect(endRun(state, outcome, null, noon).session === null).toBe(isReset);
});

test('finishing one task of several keeps it', () => {
  const facts = {
    task: task(1),
    tasks: [task(1), task(2)],
    analysis: analysis({ sessionId: 'abc-1', signal: { status: 'COMPLETE', exitSignal: false } }),
    denials: [],
    evidence: evidence('a', { to: 'b' }),
    startedAt: noon,
  };
  expect(settleIteration(state, facts, policy, noon).state.session?.id).toBe('abc-1');
});
