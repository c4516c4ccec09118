/** A number in [0, 1). */
export type Random = () => number;

/** Returns a generator of numbers that depend only on the seed (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns an integer from `min` to `max`, both included. */
export function integer(random: Random, min: number, max: number): number {
  return min + Math.floor(random() * (max - min + 1));
}

/** Returns one of the values. */
export function pick<T>(random: Random, values: readonly [T, ...T[]]): T {
  return values[Math.floor(random() * values.length)] ?? values[0];
}

/** Decides whether the n-th event happens. The result is always the same, so a mind needs no memory for it. */
export function chance(seed: number, nth: number, probability: number): boolean {
  return createRandom(Math.imul(seed + 1, 0x9e3779b1) ^ nth)() < probability;
}
