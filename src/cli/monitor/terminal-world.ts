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
import { type Line, type Look, type Size, widthOf } from './view/columns.ts';

/** What happens at a terminal; `tick`: nothing did for a while. */
export type ScreenEvent =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'resize' }
  | { readonly kind: 'tick' };

/** A terminal that is drawn on as a whole. */
export interface Screen {
  size(): Size;
  /** Shows these lines, from the top: writes only what changed. */
  draw(lines: readonly Line[]): void;
  /** The next thing that happens, at the latest after `ms`. */
  next(ms: number): Promise<ScreenEvent>;
  /** Shows again what was there before, and the cursor. */
  close(): void;
}

/** The last run of a checkout that this program made. `folder`: of the repository, which it works for and has its files in. */
export interface LastRun {
  readonly folder: string;
  readonly pid: number;
  /** In ms. */
  readonly startedAt: number;
}

/** What the monitor has of the machine beside the terminal that every command has. */
export interface MonitorWorld {
  /** Null: there is no terminal to draw on. */
  openScreen(): Promise<Screen | null>;
  /** The width of what is printed as text. */
  columns(): number;
  pause(ms: number): Promise<void>;
  /** Whether there is a process with this id. */
  isAlive(pid: number): boolean;
  /** By the state in the checkout with this top folder; null: nothing is known of one. */
  lastRun(top: string): Promise<LastRun | null>;
}

/** A terminal that says nothing of its size. */
const FALLBACK: Size = { columns: 80, rows: 24 };

/** Where a terminal draws a character wider than it is counted, the line is cut and not continued on the next. */
const NO_WRAP = '\u001B[?7l';

const WRAP = '\u001B[?7h';

/** Keys that are held down come faster than they are obeyed. */
const MAX_WAITING = 50;

const styles: Readonly<Record<Exclude<Look, 'plain'>, Parameters<typeof styleText>[0]>> = {
  strong: 'bold',
  faint: 'dim',
  good: 'green',
  warning: 'yellow',
  bad: 'red',
};

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

/** Takes the whole terminal; it is given back by `close`, and on every other way out of the program. */
function openTerminal({ input, output }: { readonly input: ReadStream; readonly output: WriteStream }): Screen {
  const hasKeys = (input as Partial<ReadStream>).isTTY === true;
  const hasColors = output.hasColors();
  const waiting: ScreenEvent[] = [];
  let wake: (() => void) | null = null;
  /** What stands in each row; null: nobody knows. */
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
    // The terminal shows it all at once, and never half of it.
    const start = before === null ? eraseScreen : '';
    output.write(`${beginSynchronizedOutput}${start}${changed.join('')}${endSynchronizedOutput}`);
  }

  function rowOf(line: Line, columns: number): string {
    const text = line
      .map(({ text: plain, look }) => (look === 'plain' || !hasColors ? plain : styled(plain, look)))
      .join('');
    // At the end of a full line the cursor stands on its last character, which would be erased.
    return widthOf(line) < columns ? `${text}${eraseEndLine}` : text;
  }

  function styled(text: string, look: Exclude<Look, 'plain'>): string {
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
