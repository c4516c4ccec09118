import type { Clock } from '../../ports/machine.ts';

/** The steady clock stands still while a machine sleeps; smaller differences are corrections of the other one. */
const SLEPT_MS = 10_000;

/**
 * The clock of a run on a person's machine, which may be closed while the run waits: time passes while it sleeps as well.
 * Like the clock of a job it never goes back, whatever the machine's own does. `wall` and `steady` in ms.
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
