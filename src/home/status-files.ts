import { fromRoot } from '../core/folder.ts';
import { progressDocument } from '../core/local/status-document.ts';
import { messageOf } from '../errors.ts';
import { openOwnFolder, type OwnFolder, type WorkedFolder } from './own-folder.ts';

/** The last line of a terminal, drawn anew each second while a run waits; what is printed meanwhile stands above it. */
export interface CountdownLine {
  readonly print: (text: string) => void;
  /** `until`: an instant in ms. */
  readonly begin: (until: number) => void;
  /** Takes the line away; without one nothing happens. */
  readonly end: () => void;
}

const COUNTDOWN_BEAT_MS = 1_000;

/** Back to the begin of the line, which is then empty. */
const CLEAR = '\r\u001B[2K';

/** How a person ends a run. */
export interface Interruption {
  /** Aborted by the first Ctrl-C: the run ends before the next iteration begins. Its reason is who asked. */
  readonly ending: AbortSignal;
  /** Aborted by the second Ctrl-C, or by SIGTERM or SIGHUP: the run ends at once. */
  readonly signal: AbortSignal;
  readonly stop: () => void;
}

const NOW_SIGNALS = ['SIGTERM', 'SIGHUP'] as const;

/** `.ralph/status.json` and `.ralph/progress.json` of the folder that the run works for, for whoever watches the run. A place that cannot be written is warned of once, and the run goes on without it. */
export interface StatusFiles {
  readonly status: (document: object) => void;
  /** A call begins: its progress is written every two seconds. */
  readonly callBegins: () => void;
  /** What the agent said last. */
  readonly heard: (line: string) => void;
  readonly callEnds: (how: 'completed' | 'failed' | 'idle') => void;
}

const BEAT_MS = 2_000;

export function createStatusFiles(
  place: WorkedFolder,
  { now, warn }: { readonly now: () => number; readonly warn: (text: string) => void },
): StatusFiles {
  const unusable = new Set<string>();
  let folder: OwnFolder | null = null;
  let startedAt = now();
  let lastOutput = '';
  let beat: NodeJS.Timeout | null = null;

  function write(name: string, document: object): void {
    if (unusable.has(name)) return;
    try {
      folder ??= openOwnFolder(place, ['.ralph'], { hides: false });
      folder.replace(name, `${JSON.stringify(document, null, 2)}\n`);
    } catch (error) {
      unusable.add(name);
      warn(
        `${fromRoot(place.folder, `.ralph/${name}`)} is not written, so nothing can watch this run by it: ${messageOf(error)}.`,
      );
    }
  }
  const progress = (doing: Parameters<typeof progressDocument>[0]): void => {
    write('progress.json', progressDocument(doing, { startedAt, now: now(), lastOutput }));
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
    heard: (line) => {
      lastOutput = line;
    },
    callEnds: (how) => {
      if (beat !== null) clearInterval(beat);
      beat = null;
      progress(how);
    },
  };
}

/** `say` tells the person what their Ctrl-C does; `giveUp` is called when a run does not end in time. */
export function listenForInterruption({
  say,
  giveUp,
  withinMs,
}: {
  readonly say: (text: string) => void;
  readonly giveUp: () => void;
  readonly withinMs: number;
}): Interruption {
  const ending = new AbortController();
  const now = new AbortController();
  const endNow = (why: string): void => {
    if (now.signal.aborted) return;
    say('Ending now. What is finished is kept.');
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

/** `words`: what the line says of an instant; it is cut at the terminal's width, since a line that wraps cannot be drawn anew. */
export function createCountdownLine({
  write,
  columns,
  words,
}: {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  readonly words: (until: number) => string;
}): CountdownLine {
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
