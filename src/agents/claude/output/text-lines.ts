import { behindLine, LINE_FEED } from '../../reading/line-ends.ts';
import {
  CARRIAGE_RETURN,
  eventStart,
  firstVisible,
  isBlank,
  OPEN_BRACE,
  OPEN_BRACKET,
  opensArray,
  startsLikeEvent,
} from './line-bytes.ts';

/** Follows the lines of an output through Markdown fences, on bytes: decoding each line would cost far more than reading. */
export interface TextLines {
  /** Whether what comes now is quoted in a fence. */
  inFence(): boolean;
  /** Takes the whole lines from `from` on that are text whatever follows them, but not endlessly many; index behind them. */
  takeTogether(bytes: Uint8Array, from: number, json: JsonStarts): number;
  /** Takes lines of text, the last one with its line feed or without. */
  take(lines: Uint8Array): void;
  /** From now on a fence is noise. */
  ignoreFences(): void;
}

/** What may begin in a line outside fences; what starts like an event of the CLI always may. */
interface JsonStarts {
  readonly object: boolean;
  readonly array: boolean;
}

/** About so many bytes of lines are taken together: it bounds what is decoded at once. */
const MAX_TOGETHER_BYTES = 64 * 1024;

export function createTextLines(): TextLines {
  let fence: Fence | null = null;
  let followsFences = true;

  return { inFence: () => fence !== null, takeTogether, take, ignoreFences };

  function takeTogether(bytes: Uint8Array, from: number, json: JsonStarts): number {
    const enough = Math.min(bytes.length, from + MAX_TOGETHER_BYTES);
    let end = from;
    while (end < enough) {
      end = behindPlainLines(bytes, end, enough);
      const first = firstVisible(bytes, end);
      if (fence === null && bytes[first] === OPEN_BRACE && (json.object || startsLikeEvent(bytes, first))) return end;
      if (fence === null && json.array && opensArray(bytes, first)) return end;
      const behind = behindLine(bytes, first);
      if (behind === -1 || (fence === null && eventStart(bytes, end, behind) !== -1)) return end;
      follow(bytes, end, behind);
      end = behind;
    }
    return end;
  }

  function take(lines: Uint8Array): void {
    follow(lines, 0, lines.length);
  }

  function follow(bytes: Uint8Array, from: number, to: number): void {
    if (!followsFences) return;
    for (let at = from; at !== -1 && at < to; at = behindLine(bytes, at)) fence = fenceBehind(bytes, at, to, fence);
  }

  function ignoreFences(): void {
    followsFences = false;
    fence = null;
  }
}

interface Fence {
  readonly mark: number;
  readonly length: number;
}

/** Index behind the whole lines from `from` on, as far as `to`, that neither begin like JSON nor hold a fence or what a terminal overwrites. A single loop: most bytes of a text pass through it. */
function behindPlainLines(bytes: Uint8Array, from: number, to: number): number {
  let end = from;
  let isIndent = true;
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === LINE_FEED) {
      end = at + 1;
      isIndent = true;
    } else if (byte === BACKTICK || byte === TILDE) {
      if (bytes[at + 1] === byte && bytes[at + 2] === byte) return end;
      isIndent = false;
    } else if (byte === CARRIAGE_RETURN) {
      if (bytes[at + 1] !== LINE_FEED) return end;
    } else if (isIndent && !isBlank(byte)) {
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return end;
      isIndent = false;
    }
  }
  return end;
}

const BACKTICK = 0x60;
const TILDE = 0x7e;

/** The fence that is open behind the line from `from` on, as `fenceOpenedBy` and `closesFence` see it in text, underlining aside; `to` is behind it, or behind more lines. */
function fenceBehind(bytes: Uint8Array, from: number, to: number, open: Fence | null): Fence | null {
  const first = firstVisible(bytes, from);
  const start = open === null ? behindListMark(bytes, first) : first;
  const mark = bytes[start];
  if (mark !== BACKTICK && mark !== TILDE) return open;
  let end = start + 1;
  while (bytes[end] === mark) end += 1;
  const length = end - start;
  if (open !== null)
    return mark === open.mark && length >= open.length && endsLine(bytes, firstVisible(bytes, end), to) ? null : open;
  if (
    length < 3 ||
    (mark === TILDE &&
      first - from > MAX_FENCE_INDENT &&
      start === first &&
      endsLine(bytes, firstVisible(bytes, end), to))
  )
    return null;
  if (mark === BACKTICK) while (!endsLine(bytes, end, to) && bytes[end] !== BACKTICK) end += 1;
  return mark === TILDE || endsLine(bytes, end, to) ? { mark, length } : null;
}

/** Compilers underline with tildes what stands in the line before; further to the right they open no fence. */
const MAX_FENCE_INDENT = 3;

function endsLine(bytes: Uint8Array, at: number, to: number): boolean {
  return at >= to || bytes[at] === LINE_FEED;
}

const PLUS = 0x2b;
const MINUS = 0x2d;
const STAR = 0x2a;
const POINT = 0x2e;
const CLOSE_PARENTHESIS = 0x29;

/** Index behind `- ` or `12. ` and the like; `from` where no list item begins. */
function behindListMark(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at - from < 9 && isDigit(bytes[at])) at += 1;
  const byte = bytes[at];
  const isMark =
    at > from ? byte === POINT || byte === CLOSE_PARENTHESIS : byte === MINUS || byte === PLUS || byte === STAR;
  const behind = isMark ? firstVisible(bytes, at + 1) : from;
  return isMark && behind > at + 1 ? behind : from;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}
