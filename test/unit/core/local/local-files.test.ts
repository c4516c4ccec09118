import { expect, test } from 'vitest';
import { selectFilesToDelete } from '../../../../src/core/local/committed-files.ts';
import { buildProgressDocument, type RunStatus, buildLocalStatus } from '../../../../src/core/local/status-document.ts';
import { noon } from '../core-fixtures.ts';

const run: RunStatus = {
  ...{ version: 1, pid: 4711, startedAt: '2026-11-21T11:00:00.000Z', updatedAt: '2026-11-21T12:00:00.000Z' },
  ...{ branchId: 'queue', branch: 'ralph/queue', doing: 'agent', iteration: 3, maxIterations: 10, task: null },
  ...{ tasks: { done: 2, all: 5 }, circuit: 'closed', calls: { used: 12, limit: 100 }, resumeAt: null, outcome: null },
  cost: { run: 1, runLimit: 5, day: 2, dayLimit: 20 },
  signals: { done: 0, doneLimit: 2, testOnly: 0, testOnlyLimit: 3 },
};
const beside = { now: noon, tokens: { used: 7, limit: 0 }, hourEndsAt: noon + 60_000 };

test('status.json has the fields of the other monitors, and the run', () => {
  expect(buildLocalStatus(run, beside)).toEqual({
    ...{ timestamp: '2026-11-21T12:00:00.000Z', loop_count: 3, calls_made_this_hour: 12, max_calls_per_hour: 100 },
    ...{ tokens_used_this_hour: 7, max_tokens_per_hour: 0, last_action: 'executing', status: 'running' },
    ...{ exit_reason: '', tasks_completed: 2, tasks_total: 5, next_reset: '12:01:00', run },
  });
});

test.each<[Partial<RunStatus>, string]>([
  [{ doing: 'waiting' }, 'paused'],
  [{ doing: 'ended', outcome: { kind: 'complete', reason: 'plan_complete' } }, 'completed'],
  [{ doing: 'ended', outcome: { kind: 'halted', reason: 'circuit_open' } }, 'halted'],
  [{ doing: 'ended', outcome: { kind: 'limit', reason: 'iterations' } }, 'stopped'],
  [{ doing: 'ended', outcome: { kind: 'failed', reason: 'infrastructure' } }, 'error'],
])('%j is in their words %s', (change, word) => {
  expect(buildLocalStatus({ ...run, ...change }, beside)).toMatchObject({ status: word });
});

test('progress.json says how long a call works, and nothing of it behind it', () => {
  const call = { startedAt: noon, now: noon + 12_500, lastOutput: 'x'.repeat(300) };
  expect(buildProgressDocument('executing', call)).toEqual({
    ...{ status: 'executing', indicator: '⠋', elapsed_seconds: 12, last_output: 'x'.repeat(200) },
    timestamp: '2026-11-21 12:00:12',
  });
  expect(buildProgressDocument('idle', call)).toEqual({ status: 'idle', timestamp: '2026-11-21 12:00:12' });
});

test.each<[string, readonly [string, number][], { most: number; mostBytes: number }, readonly string[]]>([
  [
    'as many as may stay',
    [
      ['a', 1],
      ['b', 1],
    ],
    { most: 2, mostBytes: 9 },
    [],
  ],
  [
    'the oldest beyond that go',
    [
      ['b', 1],
      ['c', 1],
      ['a', 1],
    ],
    { most: 2, mostBytes: 9 },
    ['a'],
  ],
  [
    'and those beyond the size',
    [
      ['a', 4],
      ['b', 4],
      ['c', 4],
    ],
    { most: 9, mostBytes: 8 },
    ['a'],
  ],
  [
    'the newest stays, however large',
    [
      ['a', 1],
      ['b', 99],
    ],
    { most: 9, mostBytes: 8 },
    ['a'],
  ],
])('rotation: %s', (_title, files, limits, gone) => {
  expect(
    selectFilesToDelete(
      files.map(([name, bytes]) => ({ name, bytes })),
      limits,
    ),
  ).toEqual(gone);
});
