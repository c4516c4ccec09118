/** An instant (ms), or what gives it when it is asked for: what an error says of times counts from when it was said. */
export type Clock = number | (() => number);

/** The instant that a clock shows. */
export function timeOf(clock: Clock): number {
  return typeof clock === 'number' ? clock : clock();
}
