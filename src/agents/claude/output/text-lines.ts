import { tryJson } from '../../../core/text/try-json.ts';
import { findLineEnd, decodeKept, endsObject, type KeptBytes, LINE_FEED } from '../../reading/capped-bytes.ts';
import { asObject, type JsonObject } from '../../reading/json-value.ts';
import {
  CARRIAGE_RETURN,
  COMMA,
  createJsonWalker,
  endOfLine,
  findEventStart,
  findFirstInArray,
  findFirstVisible,
  hasProse,
  isBlank,
  OPEN_BRACE,
  OPEN_BRACKET,
  opensArray,
  startsLikeEvent,
} from './line-bytes.ts';

/** JSON in a line, and the noise around it, which is text. */
export interface FoundObjects {
  readonly before: Uint8Array;
  readonly objects: readonly JsonObject[];
  readonly behind: Uint8Array;
}

const CLOSE_BRACKET = 0x5d;

const QUOTE = 0x22;

const NOTHING = new Uint8Array(0);

/** An array of objects, complete or cut off. */
interface FoundArray extends FoundObjects {
  readonly isWhole: boolean;
}

/** First bytes of a line inside a printed object: keys, brackets, separators, and values in an array. */
const JSON_STARTS: ReadonlySet<number> = new Set(new TextEncoder().encode('"{}[],:-0123456789tfn'));

/**
 * Follows the lines of an output through Markdown fences, on bytes: decoding each line would cost far more than
 * reading.
 */
interface TextLines {
  /** Returns true if the next line is inside a code fence. */
  inFence(): boolean;
  /**
   * Takes a limited number of whole lines from `from` on that are text regardless of what follows; returns the index
   * after them.
   */
  takeTogether(bytes: Uint8Array, from: number, json: JsonStarts): number;
  /** Takes lines of text; the last one may lack its line feed. */
  take(lines: Uint8Array): void;
  /** Treats fences as noise from now on. */
  ignoreFences(): void;
}

/** The kinds of JSON that may start in a line outside fences; events of the CLI may always start. */
interface JsonStarts {
  readonly object: boolean;
  readonly array: boolean;
}

/** Approximate number of bytes of lines that are taken together, which limits how much is decoded at once. */
const MAX_TOGETHER_BYTES = 64 * 1024;

/** Creates a follower of lines that begins outside any fence. */
export function createTextLines(): TextLines {
  let fence: Fence | null = null;
  let followsFences = true;

  return { inFence: () => fence !== null, takeTogether, take, ignoreFences };

  function takeTogether(bytes: Uint8Array, from: number, json: JsonStarts): number {
    const enough = Math.min(bytes.length, from + MAX_TOGETHER_BYTES);
    let end = from;
    while (end < enough) {
      end = indexAfterPlainLines(bytes, end, enough);
      const first = findFirstVisible(bytes, end);
      if (fence === null && bytes[first] === OPEN_BRACE && (json.object || startsLikeEvent(bytes, first))) return end;
      if (fence === null && json.array && opensArray(bytes, first)) return end;
      const behind = findLineEnd(bytes, first);
      if (behind === -1 || (fence === null && findEventStart(bytes, end, behind) !== -1)) return end;
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
    for (let at = from; at !== -1 && at < to; at = findLineEnd(bytes, at)) fence = fenceAfter(bytes, at, to, fence);
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

/**
 * Returns the index after the whole lines from `from` on, up to `to`, that neither begin like JSON nor contain a fence
 * or text that a terminal overwrites. A single loop: most bytes of a text pass through it.
 */
function indexAfterPlainLines(bytes: Uint8Array, from: number, to: number): number {
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

/**
 * Returns the fence that is open after the line at `from`, or null. The rules are those of `findOpeningFence` and
 * `closesFence`, except that underlining is ignored. `to` is the index after that line or after a later one.
 */
function fenceAfter(bytes: Uint8Array, from: number, to: number, open: Fence | null): Fence | null {
  const first = findFirstVisible(bytes, from);
  const start = open === null ? indexAfterListMark(bytes, first) : first;
  const mark = bytes[start];
  if (mark !== BACKTICK && mark !== TILDE) return open;
  let end = start + 1;
  while (bytes[end] === mark) end += 1;
  const length = end - start;
  if (open !== null)
    return mark === open.mark && length >= open.length && endsLine(bytes, findFirstVisible(bytes, end), to)
      ? null
      : open;
  if (
    length < 3 ||
    (mark === TILDE &&
      first - from > MAX_FENCE_INDENT &&
      start === first &&
      endsLine(bytes, findFirstVisible(bytes, end), to))
  )
    return null;
  if (mark === BACKTICK) while (!endsLine(bytes, end, to) && bytes[end] !== BACKTICK) end += 1;
  return mark === TILDE || endsLine(bytes, end, to) ? { mark, length } : null;
}

/** Maximum indentation of a fence: compilers underline the line before with tildes, which are further to the right. */
const MAX_FENCE_INDENT = 3;

function endsLine(bytes: Uint8Array, at: number, to: number): boolean {
  return at >= to || bytes[at] === LINE_FEED;
}

const PLUS = 0x2b;

const MINUS = 0x2d;

const STAR = 0x2a;

const POINT = 0x2e;

const CLOSE_PARENTHESIS = 0x29;

/** Returns the index after `- `, `12. ` and similar marks; `from` if no list item begins. */
function indexAfterListMark(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at - from < 9 && isDigit(bytes[at])) at += 1;
  const byte = bytes[at];
  const isMark =
    at > from ? byte === POINT || byte === CLOSE_PARENTHESIS : byte === MINUS || byte === PLUS || byte === STAR;
  const behind = isMark ? findFirstVisible(bytes, at + 1) : from;
  return isMark && behind > at + 1 ? behind : from;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/**
 * Returns the object that begins at `start` and ends the line, or several events on one line; null if there is no such
 * object.
 */
export function findObjectsIn(line: KeptBytes, start: number): FoundObjects | null {
  const rest = { head: line.head.subarray(start), tail: line.tail };
  const object = endsObject(rest) ? parseObject(rest) : null;
  if (object === null) return gluedObjects(line, start);
  return { before: line.head.subarray(0, start), objects: [object], behind: NOTHING };
}

/**
 * Returns several events on one line, possibly with noise behind them; null if prose follows, because it quotes them,
 * or if a comma follows, because they are elements of an array.
 */
function gluedObjects({ head, tail }: KeptBytes, start: number): FoundObjects | null {
  const objects: JsonObject[] = [];
  let at = start;
  while (tail === null && startsLikeEvent(head, at)) {
    const walk = createJsonWalker().walk(head, at, head.length);
    // Stop at a single object that ends the line: the caller could not parse it.
    if (walk.kind !== 'closed' || (at === start && isEmpty(head.subarray(walk.at)))) break;
    const object = parseObject({ head: head.subarray(at, walk.at), tail });
    if (object === null) break;
    objects.push(object);
    at = findFirstVisible(head, walk.at);
  }
  const behind = head.subarray(at);
  if (objects.length === 0 || head[at] === COMMA || (head[at] !== OPEN_BRACE && hasProse(behind))) return null;
  return { before: head.subarray(0, start), objects, behind };
}

/** Returns the array of objects that opens at `start`, on one line or several, or null. */
export function findElementsIn(bytes: Uint8Array, start: number): FoundArray | null {
  if (!opensArray(bytes, start)) return null;
  const objects: JsonObject[] = [];
  let at = findFirstInArray(bytes, start + 1);
  while (bytes[at] === OPEN_BRACE) {
    const walk = createJsonWalker().walk(bytes, at, bytes.length);
    if (walk.kind === 'closed') {
      const object = parseObject({ head: bytes.subarray(at, walk.at), tail: null });
      if (object !== null) objects.push(object);
    }
    at = walk.kind === 'open' ? bytes.length : walk.kind === 'closed' ? findFirstInArray(bytes, walk.at) : walk.at;
  }
  const isWhole = bytes[at] === CLOSE_BRACKET;
  return { before: bytes.subarray(0, start), objects, behind: bytes.subarray(isWhole ? at + 1 : at), isWhole };
}

/** Returns the objects of a line that is an array, complete or cut off; of an overlong line, those that were kept. */
export function findArrayIn(line: KeptBytes, start: number): FoundObjects | null {
  if (line.tail !== null) return elementsOfCut(line, start);
  const array = findElementsIn(line.head, start);
  return array !== null && (array.isWhole || array.behind.length === 0) ? array : null;
}

/**
 * Returns the remaining objects of an array on a line that lost its middle: its first elements, and the events after
 * the gap.
 */
function elementsOfCut({ head, tail }: KeptBytes, start: number): FoundObjects | null {
  const first = findElementsIn(head, start);
  if (first === null || tail === null) return null;
  const objects = [...first.objects];
  for (let at = tail.indexOf(COMMA); at !== -1; at = tail.indexOf(COMMA, at)) {
    at += 1;
    // Events are recognized by their quotation marks, which would be escaped inside a string.
    if (!startsLikeEvent(tail, at)) continue;
    const walk = createJsonWalker().walk(tail, at, tail.length);
    if (walk.kind !== 'closed') break;
    const object = parseObject({ head: tail.subarray(at, walk.at), tail: null });
    if (object !== null) objects.push(object);
    at = walk.at;
  }
  return { before: first.before, objects, behind: NOTHING };
}

/**
 * Returns the index after the lines of a pretty-printed object that begins in the line at `from`, whole or broken off.
 * With `mayArrayCome`, the beginning of an array of events ends it, too.
 */
export function endOfObject(bytes: Uint8Array, from: number, mayArrayCome: boolean): number {
  const walker = createJsonWalker();
  let end = from;
  do {
    const start = end;
    end = endOfLine(bytes, start);
    if (walker.walk(bytes, start, end).kind !== 'open') return end;
  } while (mayContinue(bytes, end) && !(mayArrayCome && opensArray(bytes, findFirstVisible(bytes, end))));
  return end;
}

/**
 * Returns true if a pretty-printed object may continue in this line, which is false for prose and for an event in the
 * first column.
 */
function mayContinue(bytes: Uint8Array, from: number): boolean {
  const isFresh = bytes[from] === OPEN_BRACE && bytes[from + 1] === QUOTE;
  return !isFresh && JSON_STARTS.has(bytes[findFirstVisible(bytes, from)] ?? 0);
}

/** Returns true if the bytes are only blanks and line feeds. */
export function isEmpty(bytes: Uint8Array): boolean {
  return bytes.every((byte) => isBlank(byte) || byte === LINE_FEED);
}

/** Parses the object in the bytes, or returns null for anything else. */
export function parseObject(bytes: KeptBytes): JsonObject | null {
  return asObject(tryJson(decodeKept(bytes).trim()));
}
