import { describe, expect, test } from 'vitest';
import { discountProgress } from '../../../../src/core/lane/settle/settle-published.ts';
import { createInitialState } from '../../../../src/core/lane/state/state.ts';
import { mergeReceivedState, mergeTrustedState } from '../../../../src/core/sharing/trusted-state.ts';
import { getProgress, resetProgress, untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import { computeCeilingLeftUsd, withCeilings } from '../../../../src/core/tasks/stepping-aside.ts';
import { noon, policy } from '../core-fixtures.ts';

const state = withCeilings(createInitialState('queue', noon), new Map([['issue-1', { usd: 2, spentUsd: 0 }]]));
const spent = (usd: number, of = state) => ({
  ...of,
  tasks: { 'issue-1': { ...getProgress(of.tasks, 'issue-1'), ceiling: { usd: 2, spentUsd: usd } } },
});
const ceilingIn = ({ tasks: known }: typeof state) => known['issue-1']?.ceiling;

describe('a ceiling', () => {
  test('belongs to the tasks that people gave one', () => {
    expect(state.tasks).toEqual({ 'issue-1': { ...untouchedProgress, ceiling: { usd: 2, spentUsd: 0 } } });
  });

  test('keeps what was spent when it is read again, and follows what people approve', () => {
    expect(ceilingIn(withCeilings(spent(1.5), new Map([['issue-1', { usd: 3, spentUsd: 1 }]])))).toEqual({
      usd: 3,
      spentUsd: 1.5,
    });
  });

  test('changes nothing without approvals', () => {
    const plain = createInitialState('queue', noon);
    expect(withCeilings(plain, new Map())).toBe(plain);
  });

  test('is allowed again when a person retries the task', () => {
    expect(resetProgress(getProgress(spent(2).tasks, 'issue-1')).ceiling).toBeUndefined();
  });

  test.each([
    [{ usd: 2, spentUsd: 0.5 }, 1.5],
    [{ usd: 2, spentUsd: 2 }, 0],
    [{ usd: 2, spentUsd: 5 }, 0],
    [undefined, null],
  ])('%j leaves %s', (ceiling, left) => {
    expect(computeCeilingLeftUsd({ ceiling })).toBe(left);
  });
});

test('a ceiling that was spent on commits which never arrived is spent', () => {
  const lost = discountProgress({ before: spent(0), after: spent(2), iterations: 1 }, policy, noon);
  expect(lost.tasks['issue-1']).toMatchObject({
    ...{ state: 'failed', reason: 'ceiling' },
    ceiling: { usd: 2, spentUsd: 2 },
  });
});

describe('what another job or a record says', () => {
  const admitted = { before: spent(1), tasks: ['issue-1'], policy, base: 'base' };
  const raised = (usd: number) => ({
    ...spent(1),
    tasks: { 'issue-1': { ...untouchedProgress, attempts: 1, ceiling: { usd: 900, spentUsd: usd } } },
  });

  test.each([
    ['more was spent', 1.5, 1.5],
    ['less was spent than before', 0, 1],
  ])('%s: the ceiling stays', (_what, said, kept) => {
    expect(ceilingIn(mergeReceivedState(raised(said), admitted, noon))).toEqual({ usd: 2, spentUsd: kept });
    expect(ceilingIn(mergeTrustedState(spent(1), raised(said), { now: noon, policy }))).toEqual({
      usd: 2,
      spentUsd: kept,
    });
  });
});
