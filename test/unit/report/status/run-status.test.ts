import { expect, test } from 'vitest';
import type { Outcome } from '../../../../src/core/outcome.ts';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import { runStatusSchema, type RunStatus } from '../../../../src/core/local/status-document.ts';
import { buildStatusDocument, type LocalRunState } from '../../../../src/report/pages/run-status.ts';
import { HOUR, MINUTE, noon, policy, task } from '../../core/core-fixtures.ts';

const before: RunStatus = {
  ...{ version: 1, pid: 4711, startedAt: '2026-11-21T11:00:00.000Z', updatedAt: '2026-11-21T11:50:00.000Z' },
  ...{ branchId: 'queue', branch: 'ralph/queue', doing: 'ended', iteration: 3, maxIterations: 10, task: null },
  ...{ tasks: { done: 2, all: 5 }, circuit: 'half-open', calls: { used: 12, limit: 100 }, resumeAt: null },
  outcome: { kind: 'limit', reason: 'iterations' },
  cost: { run: 1, runLimit: 5, day: 2, dayLimit: 20 },
  signals: { done: 0, doneLimit: 2, testOnly: 0, testOnlyLimit: 3 },
};
const state: LaneState = {
  ...createInitialState('queue', noon),
  circuit: { kind: 'open', totalOpens: 1, reason: 'no_progress', openedAt: noon - MINUTE, taskId: null },
  windows: { hour: { openedAt: noon - MINUTE, calls: 4, tokens: 70 }, day: null },
};
const work = { tasks: [task(1), task(2)], state, journal: null };
const ended: Outcome = {
  ...{ kind: 'halted', reason: 'circuit_open', circuitReason: 'no_progress', tripped: 'earlier' },
  probeAt: noon + HOUR,
};
const stands: LocalRunState = {
  ...{ work: null, before: null, lane: { id: 'queue', branch: 'ralph/queue' }, doing: 'ended', task: null, policy },
  ...{ startedAt: noon - 1000, now: noon, resumeAt: null, outcome: ended, pid: 7 },
};

function shown(change: Partial<LocalRunState>): { readonly run: RunStatus } & Readonly<Record<string, unknown>> {
  const document = buildStatusDocument({ ...stands, ...change }) as Readonly<Record<string, unknown>>;
  return { ...document, run: runStatusSchema.parse(document.run) };
}

test('a run that the gate ends says why, how its lane stands, and keeps the loops that were counted', () => {
  const { run, ...others } = shown({ work, before });
  expect(run).toMatchObject({
    ...{ iteration: 3, tasks: { done: 0, all: 2 }, circuit: 'open', calls: { used: 4 } },
    outcome: { kind: 'halted', reason: 'circuit_open' },
  });
  expect(others).toMatchObject({
    ...{ loop_count: 3, calls_made_this_hour: 4, tokens_used_this_hour: 70, tasks_total: 2 },
    ...{ status: 'halted', exit_reason: 'circuit_open' },
  });
});

test.each<[string, number, number, number]>([
  ['within the hour', noon, 12, 2],
  ['the hour is over', noon + HOUR, 0, 2],
  ['the day is over', noon + 12 * HOUR, 0, 0],
])('a run that knows nothing of its lane repeats what was known: %s', (_title, now, calls, day) => {
  expect(shown({ before, now }).run).toMatchObject({
    ...{ iteration: 3, tasks: { done: 2, all: 5 }, circuit: 'half-open', calls: { used: calls } },
    cost: { run: 0, day },
  });
});

test('a run with iterations counts its own', () => {
  expect(shown({ work: { ...work, journal: [] }, before, doing: 'agent', outcome: null }).run.iteration).toBe(1);
  expect(shown({ work: { ...work, journal: [] }, before }).run.iteration).toBe(0);
  expect(shown({}).run).toMatchObject({ iteration: 0, circuit: 'closed', tasks: { done: 0, all: 0 } });
});
