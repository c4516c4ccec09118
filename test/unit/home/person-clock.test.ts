import { expect, test } from 'vitest';
import { createPersonClock } from '../../../src/wiring/home/home-world.ts';

/** Creates a machine whose clocks can be set. */
function machine() {
  const at = { wall: 1_000_000, steady: 500 };
  const clock = createPersonClock(
    () => at.wall,
    () => at.steady,
  );
  const pass = (ms: number): void => {
    at.wall += ms;
    at.steady += ms;
  };
  return { at, clock, pass };
}

test('time passes while the machine sleeps', () => {
  const { at, clock, pass } = machine();
  pass(60_000);
  expect(clock.now()).toBe(1_060_000);
  at.wall += 3 * 3_600_000;
  expect(clock.now()).toBe(1_060_000 + 3 * 3_600_000);
  pass(1_000);
  expect(clock.now()).toBe(1_061_000 + 3 * 3_600_000);
});

test('it never goes back, and ignores corrections of a second', () => {
  const { at, clock, pass } = machine();
  at.wall -= 3_600_000;
  pass(1_000);
  expect(clock.now()).toBe(1_001_000);
  at.wall += 3_600_000 + 1_000;
  expect(clock.now()).toBe(1_001_000);
});
