import { expect, test } from 'vitest';
import { agentNames, queueNames, type CaseName } from '../../../bench/simulator/cases.ts';
import type { PolicyName } from '../../../bench/simulator/policies.ts';
import { goalsOf, sweep } from '../../../bench/simulator/sweep.ts';

test.each<{ of: string; names: readonly CaseName[]; count: number; policy: PolicyName }>([
  { of: 'agents', names: agentNames, count: 306, policy: 'default' },
  { of: 'agents', names: agentNames, count: 80, policy: 'default + verify' },
  { of: 'queues', names: queueNames, count: 204, policy: 'default' },
  { of: 'queues', names: queueNames, count: 204, policy: 'default + verify' },
  // Only here do five calls with the same error come before too many without progress.
  {
    of: 'queues with errors',
    names: ['queue-repeats-an-error', 'queue-errors-beside-work', 'queue-provider-fails'],
    count: 60,
    policy: 'circuit-no-progress 5',
  },
])('$count seeded histories of $of miss no goal under "$policy"', async ({ names, count, policy }) => {
  const found = await sweep({ seed: 1, count, names }, policy);
  expect(
    goalsOf(found, policy).flatMap(({ goal, missedBy }) =>
      missedBy.map(({ of }) => `${goal}: ${of.name}, seed ${String(of.seed)}`),
    ),
  ).toEqual([]);
});
