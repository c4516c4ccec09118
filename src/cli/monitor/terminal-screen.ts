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
import { emitKeypressEvents, type Key } from 'node:readline';
import type { ReadStream, WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { onExit } from 'signal-exit';
import type { Screen, ScreenEvent } from './screen-port.ts';
import { widthOf, type Line, type Look, type Size } from './view/columns.ts';

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

/** Takes the whole terminal; it is given back by `close`, and on every other way out of the program. */
export function openTerminal({ input, output }: { readonly input: ReadStream; readonly output: WriteStream }): Screen {
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
