import { expect, test } from 'vitest';
import { emptyBudget, reserveUsage, type Budget, planRenewal } from '../../../../src/core/sharing/budget.ts';
import { HOUR, MINUTE, noon, policy as defaults } from '../core-fixtures.ts';

const policy = { ...defaults, maxIterations: 10, maxCallsPerHour: 6, maxCostUsd: 5, maxCostUsdPerDay: 8 };
const run = {
  runTag: 'ours',
  lane: 'queue',
  runUrl: '',
  runId: '1',
  runAttempt: 1,
  expiresAt: noon + 5 * HOUR,
  tasks: [],
};
const spent = { calls: 6, tokens: 60, costUsd: 2 };
const windows = { hour: { openedAt: noon, calls: 6, tokens: 60 }, day: { openedAt: noon, costUsd: 2 } };
const begun = reserveUsage(emptyBudget, { ...run, ...spent }, noon);
const other = { ...run, runTag: 'other', lane: 'issue-2', runId: '2', calls: 4, tokens: 0, costUsd: 1 };
const used = (calls: number, costUsd: number, at: number): Budget => ({
  ...begun,
  windows: { hour: { openedAt: at, calls, tokens: 0 }, day: { openedAt: at, costUsd } },
});

test.each<
  [string, Budget, number, { readonly calls: number; readonly maxCostUsd: number; readonly hour: number | null }]
>([
  ['in a new hour it gets a new hour', begun, noon + HOUR, { calls: 10, maxCostUsd: 5, hour: null }],
  ['in the hour of before its own calls count', begun, noon + 30 * MINUTE, { calls: 6, maxCostUsd: 5, hour: 6 }],
  [
    'what another run used of the new hour is gone',
    used(4, 5, noon + HOUR),
    noon + HOUR + MINUTE,
    { calls: 8, maxCostUsd: 3, hour: 4 },
  ],
  [
    'what another run reserved is gone',
    reserveUsage(begun, other, noon),
    noon + HOUR,
    { calls: 8, maxCostUsd: 5, hour: 4 },
  ],
])('%s', (_title, budget, now, expected) => {
  const renewal = planRenewal(budget, { run, spent, windows, policy }, now);
  expect({
    calls: renewal.policy.maxIterations,
    maxCostUsd: renewal.policy.maxCostUsd,
    hour: renewal.windows.hour?.calls ?? null,
  }).toEqual(expected);
  expect(renewal.reservation.calls).toBeGreaterThanOrEqual(spent.calls);
});
