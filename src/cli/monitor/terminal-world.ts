import type { ReadStream, WriteStream } from 'node:tty';
import { setTimeout as pause } from 'node:timers/promises';
import type { MonitorWorld } from './screen-port.ts';
import { openTerminal } from './terminal-screen.ts';

const DEFAULT_COLUMNS = 80;

/** What the monitor has of the machine: the terminal that `output` is, if it is one, and keys where `input` is one, too. */
export function createTerminalWorld({
  input,
  output,
  env,
  lastRun,
}: {
  readonly input: ReadStream;
  readonly output: WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly lastRun: MonitorWorld['lastRun'];
}): MonitorWorld {
  // Other streams than terminals lack what their types promise.
  const { isTTY, columns } = output as Partial<WriteStream>;
  const isCi = !['', 'false', '0'].includes(env.CI ?? '');
  return {
    openScreen: () =>
      Promise.resolve(isTTY === true && env.TERM !== 'dumb' && !isCi ? openTerminal({ input, output }) : null),
    columns: () => (columns === undefined || columns === 0 ? DEFAULT_COLUMNS : columns),
    pause: async (ms) => {
      await pause(ms);
    },
    isAlive,
    lastRun,
  };
}

/** Whether there is a process with this id, of whomever. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
