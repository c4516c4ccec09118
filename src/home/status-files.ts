import { toRootPath } from '../core/folder.ts';
import { buildProgressDocument } from '../core/local/status-document.ts';
import { getErrorMessage } from '../errors.ts';
import { openOwnFolder, type OwnFolder, type WorkedFolder } from './own-folder.ts';

/** The last line of a terminal, redrawn each second while a run waits; other output appears above it. */
export interface CountdownLine {
  readonly print: (text: string) => void;
  /** Begins the countdown to `until`, an instant in ms. */
  readonly begin: (until: number) => void;
  /** Removes the line; does nothing if there is no line. */
  readonly end: () => void;
}

const COUNTDOWN_BEAT_MS = 1_000;

/** The control sequence that returns to the beginning of the line and clears it. */
const CLEAR = '\r\u001B[2K';

/** The signals with which a person ends a run. */
export interface Interruption {
  /**
   * Aborted by the first Ctrl-C: the run ends before the next iteration begins. The abort reason names the person.
   */
  readonly ending: AbortSignal;
  /** Aborted by the second Ctrl-C, or by SIGTERM or SIGHUP: the run ends at once. */
  readonly signal: AbortSignal;
  readonly stop: () => void;
}

const NOW_SIGNALS = ['SIGTERM', 'SIGHUP'] as const;

/**
 * The files `.ralph/status.json` and `.ralph/progress.json` in the folder that the run works for, with which people
 * watch the run. A file that cannot be written causes one warning, and the run continues without it.
 */
export interface StatusFiles {
  readonly status: (document: object) => void;
  /** Begins a call; its progress is written every two seconds. */
  readonly callBegins: () => void;
  /** Receives the agent's latest line. */
  readonly lineLogged: (line: string) => void;
  readonly callEnds: (how: 'completed' | 'failed' | 'idle') => void;
}

const BEAT_MS = 2_000;

/**
 * Creates the status files of the folder that the run works for. `warn` gets one line for each file that cannot be
 * written.
 */
export function createStatusFiles(
  place: WorkedFolder,
  options: { readonly status: readonly string[]; readonly now: () => number; readonly warn: (text: string) => void },
): StatusFiles {
  const { status, now, warn } = options;
  const unusable = new Set<string>();
  let folder: OwnFolder | null = null;
  let startedAt = now();
  let lastOutput = '';
  let beat: NodeJS.Timeout | null = null;

  function write(name: string, document: object): void {
    if (unusable.has(name)) return;
    try {
      folder ??= openOwnFolder(place, status, { hides: status.length > 1 });
      folder.replace(name, `${JSON.stringify(document, null, 2)}\n`);
    } catch (error) {
      unusable.add(name);
      warn(
        `${toRootPath(place.folder, [...status, name].join('/'))} cannot be written, so other programs cannot watch this run: ${getErrorMessage(error)}.`,
      );
    }
  }
  const progress = (doing: Parameters<typeof buildProgressDocument>[0]): void => {
    write('progress.json', buildProgressDocument(doing, { startedAt, now: now(), lastOutput }));
  };

  return {
    status: (document) => {
      write('status.json', document);
    },
    callBegins: () => {
      startedAt = now();
      lastOutput = '';
      progress('executing');
      beat ??= setInterval(() => {
        progress('executing');
      }, BEAT_MS).unref();
    },
    lineLogged: (line) => {
      lastOutput = line;
    },
    callEnds: (how) => {
      if (beat !== null) clearInterval(beat);
      beat = null;
      progress(how);
    },
  };
}

/**
 * Listens for Ctrl-C and other signals. `say` prints what a person's Ctrl-C does; `giveUp` is called if the run does
 * not end in time.
 */
export function listenForInterruption(options: {
  readonly say: (text: string) => void;
  readonly giveUp: () => void;
  readonly withinMs: number;
}): Interruption {
  const { say, giveUp, withinMs } = options;
  const ending = new AbortController();
  const now = new AbortController();
  const endNow = (why: string): void => {
    if (now.signal.aborted) return;
    say('Ending now. Finished work is kept.');
    now.abort(new Error(`the run was cancelled (${why})`));
    setTimeout(giveUp, withinMs).unref();
  };
  const onInterrupt = (): void => {
    if (ending.signal.aborted) {
      endNow('SIGINT');
      return;
    }
    say('Ending before the next iteration. Press Ctrl-C again to end now.');
    ending.abort('you (Ctrl-C)');
  };
  const onSignal = (name: NodeJS.Signals): void => {
    endNow(name);
  };
  process.on('SIGINT', onInterrupt);
  for (const name of NOW_SIGNALS) process.on(name, onSignal);
  return {
    ending: ending.signal,
    signal: now.signal,
    stop: () => {
      process.off('SIGINT', onInterrupt);
      for (const name of NOW_SIGNALS) process.off(name, onSignal);
    },
  };
}

/**
 * Creates a countdown line. `words` returns its text for an instant; the text is cut at the terminal's width, because a
 * line that wraps cannot be redrawn.
 */
export function createCountdownLine(options: {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  readonly words: (until: number) => string;
}): CountdownLine {
  const { write, columns, words } = options;
  let shown: { readonly until: number; readonly beat: NodeJS.Timeout } | null = null;
  const draw = (): void => {
    if (shown !== null) write(`${CLEAR}${words(shown.until).slice(0, Math.max(0, columns() - 1))}`);
  };
  const end = (): void => {
    if (shown === null) return;
    clearInterval(shown.beat);
    shown = null;
    write(CLEAR);
  };
  return {
    print: (text) => {
      if (shown !== null) write(CLEAR);
      write(text);
      draw();
    },
    begin: (until) => {
      end();
      shown = { until, beat: setInterval(draw, COUNTDOWN_BEAT_MS).unref() };
      draw();
    },
    end,
  };
}
