import type { WriteStream } from 'node:tty';
import { formatInstant } from '../../core/countdown.ts';
import { createCountdownLine, type CountdownLine } from '../../home/status-files.ts';
import { formatDuration } from '../../report/format.ts';
import { systemClock } from '../world.ts';

/** Creates the line that counts down a wait; returns null if the output is not a terminal that can redraw a line. */
export function createCountdown(
  terminal: Pick<WriteStream, 'isTTY' | 'columns'>,
  { TERM, CI }: NodeJS.ProcessEnv,
  write: (text: string) => void,
): CountdownLine | null {
  if (!terminal.isTTY || TERM === 'dumb' || (CI ?? '') !== '') return null;
  return createCountdownLine({
    write,
    columns: () => (terminal.columns > 0 ? terminal.columns : 80),
    words: (until) =>
      `${formatDuration(Math.max(1, until - systemClock.now()))} left, waiting until ${formatInstant(until)}`,
  });
}
