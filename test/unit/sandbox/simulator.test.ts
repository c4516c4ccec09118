import { expect, test } from 'vitest';
import { behaviourNames } from '../../../bench/simulator/behaviours.ts';
import { goalsOf, sweep } from '../../../bench/simulator/sweep.ts';

test.each(['default', 'default + verify'] as const)(
  '300 seeded histories under "%s": no premature stop, no call after completion, at most 3 for a stuck agent, no false alarm',
  async (policy) => {
    const found = await sweep({ seed: 1, count: 300, behaviours: behaviourNames }, policy);
    expect(
      goalsOf(found).flatMap(({ goal, missedBy }) =>
        missedBy.map(({ of }) => `${goal}: ${of.behaviour}, seed ${String(of.seed)}`),
      ),
    ).toEqual([]);
  },
);
