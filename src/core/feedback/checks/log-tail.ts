import { cutText } from '../../text/phrase.ts';
import { SECOND_MS } from '../../countdown.ts';

/** Maximum number of lines kept from the end of a log. */
export const MAX_TAIL_LINES = 200;
export const MAX_TAIL_CHARS = 64 * 1024;
/** Maximum length of one line. The beginning of a long line, such as a bundle, is enough to identify it. */
const MAX_LINE_CHARS = 2_000;
/**
 * Maximum length of a word that is dropped because the cut split it: redaction would not recognize half of a secret.
 */
const MAX_CUT_WORD_CHARS = 512;
/** Maximum length of an incomplete line: its text and the preceding timestamp. */
const MAX_UNREAD_CHARS = MAX_LINE_CHARS + 40;

/** Time span of a step in ms, as GitHub reports it in whole seconds; null if not known. */
export interface LogWindow {
  readonly from: number | null;
  readonly to: number | null;
}

/** Takes a log in chunks and keeps only its end. */
export interface LogTail {
  push(text: string): void;
  /**
   * Returns the last lines of the step without timestamps, or those of the whole log if no line belongs to the step.
   */
  end(): string;
}

/**
 * Creates a tail for a job's log or for one step of it. Lines are assigned to a step by their timestamps, because a log
 * names no steps.
 */
export function createLogTail({ from, to }: LogWindow): LogTail {
  const ofStep: string[] = [];
  const ofAll: string[] = [];
  let unread = '';
  let isOfStep = from === null && to === null;

  function take(line: string): void {
    const { at, text } = splitTimestamp(trimLineEnds(line));
    // A line without a timestamp belongs to the step of the preceding line.
    if (at !== null) isOfStep = (from === null || at >= from) && (to === null || at < to + SECOND_MS);
    const kept = text.length > MAX_LINE_CHARS ? `${withoutCutWord(cutText(text, MAX_LINE_CHARS))}…` : text;
    pushLatest(ofAll, kept);
    if (isOfStep) pushLatest(ofStep, kept);
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

/** Removes the word at the end. A loop is used, because a pattern would restart at each character of a long word. */
function withoutCutWord(text: string): string {
  let at = text.length;
  while (at > 0 && text.length - at < MAX_CUT_WORD_CHARS && text[at - 1]?.trim() !== '') at -= 1;
  return text.slice(0, at);
}

/** Removes a byte order mark at the beginning and a carriage return at the end. */
function trimLineEnds(line: string): string {
  return line.slice(line.startsWith('\uFEFF') ? 1 : 0, line.endsWith('\r') ? -1 : undefined);
}

/** Splits a line such as `2026-11-21T12:00:00.1234567Z text` into its timestamp, in ms, and its text. */
function splitTimestamp(line: string): { readonly at: number | null; readonly text: string } {
  if (line[10] !== 'T') return { at: null, text: line };
  const [whole, second = '', fraction = ''] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,3})\d*)?Z(?: |$)/.exec(line) ?? [];
  if (whole === undefined) return { at: null, text: line };
  const at = Date.parse(`${second}.${fraction.padEnd(3, '0')}Z`);
  return { at: Number.isNaN(at) ? null : at, text: line.slice(whole.length) };
}

/** Drops the oldest lines in batches, because a log may have millions of lines. */
function pushLatest(lines: string[], line: string): void {
  lines.push(line);
  if (lines.length > 2 * MAX_TAIL_LINES) lines.splice(0, MAX_TAIL_LINES);
}

/** Returns the last lines that fit the limits. */
function lastOf(lines: readonly string[]): readonly string[] {
  const last = lines.slice(-MAX_TAIL_LINES);
  let chars = 0;
  const beyond = last.findLastIndex((line) => (chars += line.length + 1) > MAX_TAIL_CHARS);
  return last.slice(beyond + 1);
}
