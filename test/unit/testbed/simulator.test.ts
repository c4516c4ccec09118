import { expect, test } from 'vitest';
import { agentNames, queueNames, type CaseName } from '../../../bench/simulator/cases.ts';
import type { PolicyName } from '../../../bench/simulator/policies.ts';
import { goalsOf, sweep } from '../../../bench/simulator/sweep.ts';
import { runs } from '../../runs.ts';

// Each name is played `each` times, with consecutive seeds.
test.each<{ of: string; names: readonly CaseName[]; each: number; policy: PolicyName }>([
  { of: 'agents', names: agentNames, each: 12, policy: 'default' },
  { of: 'agents', names: agentNames, each: 12, policy: 'default + verify' },
  { of: 'queues', names: queueNames, each: 24, policy: 'default' },
  { of: 'queues', names: queueNames, each: 24, policy: 'default + verify' },
  // Only this case has five calls with the same error before too many without progress.
  {
    of: 'queues with errors',
    names: ['queue-repeats-an-error', 'queue-errors-beside-work', 'queue-provider-fails'],
    each: 40,
    policy: 'circuit-no-progress 5',
  },
])('seeded histories of $of miss no goal under "$policy"', async ({ names, each, policy }) => {
  const found = await sweep({ seed: 1, count: names.length * runs(each), names }, policy);
  expect(
    goalsOf(found, policy).flatMap(({ goal, missedBy }) =>
      missedBy.map(({ of }) => `${goal}: ${of.name}, seed ${String(of.seed)}`),
    ),
  ).toEqual([]);
});
