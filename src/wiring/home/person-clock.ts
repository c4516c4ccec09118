import type { Clock } from '../../ports/machine.ts';

/**
 * Minimum difference in ms that means the machine slept, during which the steady clock stops; smaller ones are
 * corrections of the wall clock.
 */
const SLEPT_MS = 10_000;

/**
 * Creates the clock of a run on a person's machine, which may sleep while the run waits: time passes during sleep as
 * well. Like the clock of a job, it never goes back, even if the machine's own does. `wall` and `steady` return ms.
 */
export function createPersonClock(wall: () => number, steady: () => number): Clock {
  let base = wall() - steady();
  return {
    now: () => {
      const ahead = wall() - (base + steady());
      if (ahead > SLEPT_MS) base += ahead;
      return Math.round(base + steady());
    },
  };
}
