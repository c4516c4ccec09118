import { SECOND_MS } from '../core/countdown.ts';
import { formatDuration } from '../report/format.ts';
import type { ExternalWait } from '../ports/waits.ts';

/** Time in ms without output after which the command shows what it waits for. */
const SILENT_MS = 3_000;
/** Interval in ms at which the line is printed again during one wait if it cannot be redrawn. */
const AGAIN_MS = 60_000;
const BEAT_MS = 1_000;

/** The control sequence that returns to the beginning of the line and clears it. */
const CLEAR = '\r\u001B[2K';

/** The line that says what a silent command waits for. */
interface WaitingLine {
  /** Must be called before all other output. */
  readonly makeWay: (text: string) => void;
  readonly stop: () => void;
}

/**
 * Shows what the command waits for after 3 s without output. `columns` is the width of a terminal on which the line is
 * redrawn each second; if it is null, the line is printed once a minute instead.
 */
export function showWaits(shown: {
  readonly write: (text: string) => void;
  readonly columns: () => number | null;
  readonly now: () => number;
  readonly wait: () => ExternalWait | null;
}): WaitingLine {
  const { write, columns, now, wait } = shown;
  let silentSince = now();
  let isInLine = false;
  let isDrawn = false;
  let last: { readonly wait: ExternalWait; readonly at: number } | null = null;

  const clear = (): void => {
    if (isDrawn) write(CLEAR);
    isDrawn = false;
  };
  const beat = setInterval(() => {
    const found = wait();
    const at = now();
    const width = columns();
    if (found === null) {
      clear();
      return;
    }
    // An incomplete line belongs to other output, such as a countdown or a question.
    if (isInLine || at - silentSince < SILENT_MS) return;
    const waited = at - found.since;
    const words = `Waiting for ${found.what}${waited < SECOND_MS ? '' : ` (${formatDuration(waited)})`} …`;
    if (width !== null) {
      write(`${CLEAR}${words.slice(0, Math.max(0, width - 1))}`);
      isDrawn = true;
    } else if (last?.wait !== found || at - last.at >= AGAIN_MS) {
      write(`${words}\n`);
      last = { wait: found, at };
    }
  }, BEAT_MS).unref();

  return {
    makeWay: (text) => {
      clear();
      silentSince = now();
      isInLine = !text.endsWith('\n');
    },
    stop: () => {
      clearInterval(beat);
      clear();
    },
  };
}
