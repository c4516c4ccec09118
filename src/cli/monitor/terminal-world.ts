import { emitKeypressEvents, type Key } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import type { ReadStream, WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import {
  beginSynchronizedOutput,
  cursorHide,
  cursorShow,
  cursorTo,
  endSynchronizedOutput,
  enterAlternativeScreen,
  eraseEndLine,
  eraseScreen,
  exitAlternativeScreen,
} from 'ansi-escapes';
import { onExit } from 'signal-exit';
import { type Line, type TextStyle, type Size, measureWidth } from './view/columns.ts';

/** An event at a terminal; `tick` means that nothing happened for a while. */
export type ScreenEvent =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'resize' }
  | { readonly kind: 'tick' };

/** A terminal that is drawn on as a whole. */
export interface Screen {
  size(): Size;
  /** Shows these lines from the top, and writes only the changes. */
  draw(lines: readonly Line[]): void;
  /** Waits for the next event, for at most `ms`. */
  next(ms: number): Promise<ScreenEvent>;
  /** Restores the previous content of the terminal and the cursor. */
  close(): void;
}

/**
 * This program's last run in a checkout; `folder` is the run's working directory in the repository, which also contains
 * the run's files.
 */
export interface LastRun {
  readonly folder: string;
  readonly pid: number;
  /** The start of the run, in ms. */
  readonly startedAt: number;
}

/** The monitor's access to the machine, in addition to a command's terminal. */
export interface MonitorWorld {
  /** Opens the screen, or returns null if there is no terminal to draw on. */
  openScreen(): Promise<Screen | null>;
  /** Returns the width of printed text. */
  columns(): number;
  pause(ms: number): Promise<void>;
  /** Returns true if a process with this id exists. */
  isAlive(pid: number): boolean;
  /** Returns the last run from the state of the checkout with this top folder; null before the first run. */
  lastRun(top: string): Promise<LastRun | null>;
}

/** The size of a terminal that does not report one. */
const FALLBACK: Size = { columns: 80, rows: 24 };

/**
 * Turns off line wrapping, so that a character drawn wider than expected cuts its line instead of continuing it on the
 * next.
 */
const NO_WRAP = '\u001B[?7l';

const WRAP = '\u001B[?7h';

/** Maximum number of waiting keys, because a key that is held down repeats faster than it is handled. */
const MAX_WAITING = 50;

const styles: Readonly<Record<Exclude<TextStyle, 'plain'>, Parameters<typeof styleText>[0]>> = {
  strong: 'bold',
  faint: 'dim',
  good: 'green',
  warning: 'yellow',
  bad: 'red',
};

const DEFAULT_COLUMNS = 80;

/**
 * Creates the monitor's access to the machine, with a screen if `output` is a terminal, and keys if `input` is one,
 * too.
 */
export function createTerminalWorld(options: {
  readonly input: ReadStream;
  readonly output: WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly lastRun: MonitorWorld['lastRun'];
}): MonitorWorld {
  const { input, output, env, lastRun } = options;
  // A stream that is not a terminal lacks properties that its type declares, so treat them as optional.
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

/** Returns true if a process with this id exists, regardless of its owner. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Takes over the whole terminal; `close` gives it back, and so does any other exit of the program. */
function openTerminal({ input, output }: { readonly input: ReadStream; readonly output: WriteStream }): Screen {
  const hasKeys = (input as Partial<ReadStream>).isTTY === true;
  const hasColors = output.hasColors();
  const waiting: ScreenEvent[] = [];
  let wake: (() => void) | null = null;
  /** The content of each row, or null if it is unknown. */
  let shown: readonly string[] | null = null;
  let isOpen = true;

  output.write(`${enterAlternativeScreen}${cursorHide}${NO_WRAP}`);
  output.on('resize', onResize);
  if (hasKeys) {
    emitKeypressEvents(input);
    input.setRawMode(true);
    input.on('keypress', onKey);
    input.resume();
  }
  const forget = onExit(giveBack);

  return { size, draw, next, close };

  function size(): Size {
    const [columns, rows] = output.getWindowSize();
    return columns > 0 && rows > 0 ? { columns, rows } : FALLBACK;
  }

  function draw(lines: readonly Line[]): void {
    const { columns, rows } = size();
    const before = shown;
    const after = Array.from({ length: rows }, (_, row) => rowOf(lines[row] ?? [], columns));
    const changed = after.flatMap((text, row) => (before?.[row] === text ? [] : [`${cursorTo(0, row)}${text}`]));
    shown = after;
    if (changed.length === 0) return;
    // Synchronized output prevents the terminal from showing half of the change.
    const start = before === null ? eraseScreen : '';
    output.write(`${beginSynchronizedOutput}${start}${changed.join('')}${endSynchronizedOutput}`);
  }

  function rowOf(line: Line, columns: number): string {
    const text = line
      .map(({ text: plain, look }) => (look === 'plain' || !hasColors ? plain : styled(plain, look)))
      .join('');
    // After a full line the cursor is on its last character, which the sequence would erase, so leave it out.
    return measureWidth(line) < columns ? `${text}${eraseEndLine}` : text;
  }

  function styled(text: string, look: Exclude<TextStyle, 'plain'>): string {
    return styleText(styles[look], text, { validateStream: false });
  }

  async function next(ms: number): Promise<ScreenEvent> {
    if (waiting.length === 0)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    wake = null;
    return waiting.shift() ?? { kind: 'tick' };
  }

  function happened(event: ScreenEvent): void {
    if (waiting.length < MAX_WAITING) waiting.push(event);
    wake?.();
  }

  function onKey(text: string | undefined, { name, ctrl }: Key): void {
    happened({ kind: 'key', key: `${ctrl === true ? 'ctrl-' : ''}${name ?? text ?? ''}` });
  }

  function onResize(): void {
    shown = null;
    happened({ kind: 'resize' });
  }

  function close(): void {
    giveBack();
    forget();
    output.off('resize', onResize);
    input.off('keypress', onKey);
    if (hasKeys) input.pause();
  }

  function giveBack(): void {
    if (!isOpen) return;
    isOpen = false;
    output.write(`${endSynchronizedOutput}${WRAP}${cursorShow}${exitAlternativeScreen}`);
    if (hasKeys) input.setRawMode(false);
  }
}
