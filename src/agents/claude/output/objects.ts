import { createCappedBytes, decodeKept } from './capped-bytes.ts';
import type { Kept } from './capped-bytes.ts';
import { tryJson } from '../../../core/text/try-json.ts';
import { asObject } from '../events/json.ts';
import type { JsonObject } from '../events/json.ts';
import { createJsonWalker } from './json-walker.ts';
import type { JsonWalker } from './json-walker.ts';
import {
  endOfLine,
  eventStart,
  firstVisible,
  isBlank,
  LINE_FEED,
  OPEN_BRACE,
  SPACE,
  startsLikeEvent,
} from './line-bytes.ts';
import { holdsProse } from './noise.ts';

/** Takes what lines come to: whole JSON objects, on one line or several, and all other lines. */
export interface ObjectSink {
  /** Whether a line may be the beginning of an object here. */
  mayStart(): boolean;
  object(object: JsonObject): void;
  text(line: Kept): void;
}

export interface ObjectFinder {
  take(line: Kept): void;
  /** Takes the whole lines from `from` on in which an object that has begun goes on or ends; index behind them. */
  takeTogether(bytes: Uint8Array, from: number, mayOpenArray: boolean): number;
  /** Whether an object has begun and may go on in the next line. */
  isOpen(): boolean;
  /** Whether lines are still looked at that do not start like an event of the CLI. */
  isLooking(): boolean;
}

const CLOSE_BRACE = 0x7d;
const QUOTE = 0x22;

/** So many broken objects in a row, and what is printed is no JSON: looking on would cost far more than reading. */
const MAX_FAILURES = 10_000;
/** What starts like an event is worth more failures, but not endlessly many. */
const MAX_EVENT_FAILURES = 50_000;

/** Finds objects in lines; a line that starts one and breaks it off is text, and does not take the next object with it. */
export function createObjectFinder(sink: ObjectSink): ObjectFinder {
  const bytes = createCappedBytes();
  let open: JsonWalker | null = null;
  let failures = 0;

  return { take, takeTogether, isOpen: () => open !== null, isLooking };

  function isLooking(): boolean {
    return failures < MAX_FAILURES;
  }

  function take(line: Kept): void {
    if (open !== null && mayContinue(line.head, 0)) return goOn(open, line);
    if (open !== null) failures += 1;
    open = null;
    const first = firstVisible(line.head, 0);
    const isObject = line.head[first] === OPEN_BRACE;
    const start = isObject ? first : eventStart(line.head, 0, line.head.length);
    const maxFailures = startsLikeEvent(line.head, start) ? MAX_EVENT_FAILURES : MAX_FAILURES;
    if (start === -1 || !sink.mayStart() || failures >= maxFailures) return sink.text(line);
    if (takeWhole(line, start) || takeGlued(line, start)) return;
    if (isObject && isLooking()) {
      bytes.clear();
      return goOn(createJsonWalker(), line);
    }
    failures += 1;
    sink.text(line);
  }

  /** One object, and nothing behind it. */
  function takeWhole({ head, tail }: Kept, start: number): boolean {
    const rest = { head: head.subarray(start), tail };
    const object = endsObject(rest) ? parseObject(rest) : null;
    if (object === null) return false;
    takeNoise(head.subarray(0, start));
    found(object);
    return true;
  }

  /** Events on one line, with noise behind them; in prose they are quoted. */
  function takeGlued({ head, tail }: Kept, start: number): boolean {
    const glued: JsonObject[] = [];
    let at = start;
    while (tail === null && startsLikeEvent(head, at)) {
      const walk = createJsonWalker().walk(head, at, head.length);
      // What stands alone on its line was no object.
      if (walk.kind !== 'closed' || (at === start && isEmpty(head.subarray(walk.at)))) break;
      const object = parseObject({ head: head.subarray(at, walk.at), tail });
      if (object === null) break;
      glued.push(object);
      at = firstVisible(head, walk.at);
    }
    if (glued.length === 0 || (head[at] !== OPEN_BRACE && holdsProse(head.subarray(at)))) return false;
    takeNoise(head.subarray(0, start));
    glued.forEach(found);
    takeNoise(head.subarray(at));
    return true;
  }

  function takeNoise(noise: Uint8Array): void {
    if (!isEmpty(noise)) sink.text({ head: noise, tail: null });
  }

  function goOn(walker: JsonWalker, line: Kept): void {
    bytes.append(line.head);
    open = walker;
    // Where a middle was dropped, brackets cannot be counted any more.
    if (line.tail !== null || walker.walk(line.head, 0, line.head.length).kind !== 'open') close(line);
  }

  function takeTogether(chunk: Uint8Array, from: number, mayOpenArray: boolean): number {
    let end = from;
    let start = from;
    let isOpen = open !== null;
    while (open !== null && isOpen && mayContinue(chunk, end)) {
      const behind = endOfLine(chunk, firstVisible(chunk, end), mayOpenArray);
      if (behind === -1) break;
      isOpen = open.walk(chunk, end, behind).kind === 'open';
      start = end;
      end = behind;
    }
    if (end > from) bytes.append(chunk.subarray(from, end));
    if (!isOpen) close({ head: chunk.subarray(start, end), tail: null });
    return end;
  }

  /** The object ends in this line, or breaks off. */
  function close(line: Kept): void {
    open = null;
    const object = line.tail === null ? parseObject(bytes.kept()) : null;
    if (object !== null) return found(object);
    failures += 1;
    sink.text(line);
  }

  function found(object: JsonObject): void {
    failures = 0;
    sink.object(object);
  }
}

function isEmpty(bytes: Uint8Array): boolean {
  return bytes.every((byte) => isBlank(byte) || byte === LINE_FEED);
}

/** Whether a pretty-printed object may go on in this line: not in prose, nor where another event starts in the first column. */
function mayContinue(bytes: Uint8Array, from: number): boolean {
  const isFresh = bytes[from] === OPEN_BRACE && bytes[from + 1] === QUOTE;
  return !isFresh && JSON_STARTS.has(bytes[firstVisible(bytes, from)] ?? 0);
}

/** First bytes of a line inside a printed object: keys, brackets, separators, and values in an array. */
const JSON_STARTS: ReadonlySet<number> = new Set(new TextEncoder().encode('"{}[],:-0123456789tfn'));

/** The object that the bytes are; null when they are something else. */
export function parseObject(bytes: Kept): JsonObject | null {
  return asObject(tryJson(decodeKept(bytes).trim()));
}

/** A cheap look, so that no time is spent on parsing what is cut off. */
function endsObject({ head, tail }: Kept): boolean {
  const bytes = tail ?? head;
  let end = bytes.length - 1;
  while (end > 0 && (bytes[end] ?? 0) <= SPACE) end -= 1;
  return bytes[end] === CLOSE_BRACE;
}
