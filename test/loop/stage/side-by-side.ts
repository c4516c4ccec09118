import { setImmediate as settled } from 'node:timers/promises';
// Modules that a run loads on demand are loaded first: a process that waits for the disk would miss its turn.
import '../../../src/core/people/comments.ts';
import '../../../src/core/tasks/files/files.ts';
import '../../../src/core/tasks/files/prd-archive.ts';
import '../../../src/core/tasks/files/prd.ts';
import '../../../src/core/tasks/preparation.ts';
import '../../../src/core/tasks/text-dependencies.ts';
import '../../../src/core/text/clean.ts';
import type { Tap } from './tap.ts';

/** Chooses which of the waiting runs, given by number, makes its next call; returns a position in the list. */
export type Chooser = (waiting: readonly number[]) => number;

/**
 * Runs several processes at once, one call at a time in the order that `choose` decides. Other processes cannot see
 * what happens between two calls.
 */
export async function sideBySide<Done>(
  runs: readonly ((tap: Tap) => Promise<Done>)[],
  choose: Chooser,
): Promise<readonly Done[]> {
  const waiting: { readonly run: number; readonly go: () => void }[] = [];
  let atWork = runs.length;
  const started = runs.map((run, number) =>
    run({
      call: async (_name, call) => {
        const { promise: turn, resolve: go } = Promise.withResolvers<undefined>();
        waiting.push({
          run: number,
          go: () => {
            go(undefined);
          },
        });
        await turn;
        return call();
      },
      act: (_name, act) => {
        act();
      },
      killed: new Promise(() => undefined),
    }).finally(() => {
      atWork -= 1;
    }),
  );
  // When nothing is left to do in this tick, every process waits for its turn or has ended.
  await settled();
  while (atWork > 0) {
    const [next] = waiting.splice(choose(waiting.map(({ run }) => run)), 1);
    if (next === undefined) throw new Error('A process waits for something else than its turn.');
    next.go();
    await settled();
  }
  return Promise.all(started);
}

/**
 * Returns a pseudo-random choice that the seed repeats (a linear congruential generator with the numbers of Numerical
 * Recipes).
 */
export function byChance(seed: number): Chooser {
  let last = seed;
  return (waiting) => {
    last = (Math.imul(last, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((last / 2 ** 32) * waiting.length);
  };
}

/** Lets the first run make `first` calls, then the second `second`, then the first continue to its end. */
export function withSwitches(first: number, second: number): Chooser {
  let made = 0;
  return (waiting) => {
    const preferred = made >= first && made < first + second ? 1 : 0;
    made += 1;
    return Math.max(0, waiting.indexOf(preferred));
  };
}
