import { cut } from '../../text/phrase.ts';
import { SECOND_MS } from '../../countdown.ts';

/** Of the end of a log. */
export const MAX_LOG_LINES = 200;
export const MAX_LOG_CHARS = 64 * 1024;
/** Of one line: a bundle, or a file that somebody printed. Its beginning says what it is. */
const MAX_LINE_CHARS = 2_000;
/** What is cut in two is left out, as far as a secret may reach: half of one is not recognized. */
const MAX_CUT_WORD_CHARS = 512;
/** Room for the instant in front of it. */
const MAX_UNREAD_CHARS = MAX_LINE_CHARS + 40;

/** Instants in ms between which a step ran, as GitHub says them: in whole seconds. null: not known. */
export interface LogWindow {
  readonly from: number | null;
  readonly to: number | null;
}

/** Takes a log piece by piece and keeps no more than its end. */
export interface LogTail {
  push(text: string): void;
  /** The last lines of the step, without the instants in front of them; of the whole log where no line is of the step. */
  end(): string;
}

/** The end of a job's log, or of what one step wrote into it: lines begin with an instant, and nothing else says whose they are. */
export function createLogTail({ from, to }: LogWindow): LogTail {
  const ofStep: string[] = [];
  const ofAll: string[] = [];
  let unread = '';
  let isOfStep = from === null && to === null;

  function take(line: string): void {
    const { at, text } = timed(bare(line));
    // A line without an instant goes with the one before.
    if (at !== null) isOfStep = (from === null || at >= from) && (to === null || at < to + SECOND_MS);
    const kept = text.length > MAX_LINE_CHARS ? `${withoutCutWord(cut(text, MAX_LINE_CHARS))}…` : text;
    keep(ofAll, kept);
    if (isOfStep) keep(ofStep, kept);
  }

  return {
    push(text) {
      const [first = '', ...others] = text.split('\n');
      unread = (unread + first.slice(0, MAX_UNREAD_CHARS)).slice(0, MAX_UNREAD_CHARS);
      for (const other of others) {
        take(unread);
        unread = other.slice(0, MAX_UNREAD_CHARS);
      }
    },
    end() {
      if (unread !== '') take(unread);
      unread = '';
      return lastOf(ofStep.length > 0 ? ofStep : ofAll).join('\n');
    },
  };
}

/** Without the word at its end. By hand: a pattern would begin again at each character of a long one. */
function withoutCutWord(text: string): string {
  let at = text.length;
  while (at > 0 && text.length - at < MAX_CUT_WORD_CHARS && text[at - 1]?.trim() !== '') at -= 1;
  return text.slice(0, at);
}

/** Without the mark at the beginning of a file, and what Windows has at the end of a line. */
function bare(line: string): string {
  return line.slice(line.startsWith('\uFEFF') ? 1 : 0, line.endsWith('\r') ? -1 : undefined);
}

/** `2026-11-21T12:00:00.1234567Z text`. */
function timed(line: string): { readonly at: number | null; readonly text: string } {
  if (line[10] !== 'T') return { at: null, text: line };
  const [whole, second = '', fraction = ''] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,3})\d*)?Z(?: |$)/.exec(line) ?? [];
  if (whole === undefined) return { at: null, text: line };
  const at = Date.parse(`${second}.${fraction.padEnd(3, '0')}Z`);
  return { at: Number.isNaN(at) ? null : at, text: line.slice(whole.length) };
}

/** Lets the oldest go now and then: a log may have millions of lines. */
function keep(lines: string[], line: string): void {
  lines.push(line);
  if (lines.length > 2 * MAX_LOG_LINES) lines.splice(0, MAX_LOG_LINES);
}

/** The last lines that fit. */
function lastOf(lines: readonly string[]): readonly string[] {
  const last = lines.slice(-MAX_LOG_LINES);
  let chars = 0;
  const beyond = last.findLastIndex((line) => (chars += line.length + 1) > MAX_LOG_CHARS);
  return last.slice(beyond + 1);
}
