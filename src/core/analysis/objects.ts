import { createCappedBytes, decodeKept } from './capped-bytes.ts';
import type { Kept } from './capped-bytes.ts';
import { asObject, tryParseJson } from './json.ts';
import type { JsonObject } from './json.ts';
import { createJsonWalker } from './json-walker.ts';
import type { JsonWalker } from './json-walker.ts';

/** Takes what lines come to: whole JSON objects, on one line or several, and all other lines. */
export interface ObjectSink {
  /** Whether a line may be the beginning of an object here. */
  mayStart(): boolean;
  object(object: JsonObject): void;
  text(line: Kept): void;
}

export interface ObjectFinder {
  take(line: Kept): void;
  /** Whether an object has begun and may go on in the next line. */
  isOpen(): boolean;
}

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const QUOTE = 0x22;
const SPACE = 0x20;

/** So many broken objects in a row, and what is printed is no JSON: looking on would cost far more than reading. */
const MAX_FAILURES = 10_000;

/** Finds objects in lines; a line that starts one and breaks it off is text, and does not take the next object with it. */
export function createObjectFinder(sink: ObjectSink): ObjectFinder {
  const bytes = createCappedBytes();
  let open: JsonWalker | null = null;
  let failures = 0;

  return { take, isOpen: () => open !== null };

  function take(line: Kept): void {
    if (open !== null && mayContinue(line.head)) return goOn(open, line);
    open = null;
    if (failures === MAX_FAILURES || !sink.mayStart() || line.head[firstVisible(line.head)] !== OPEN_BRACE) return sink.text(line);
    const object = endsObject(line) ? parseObject(line) : null;
    if (object !== null) return found(object);
    bytes.clear();
    goOn(createJsonWalker(), line);
  }

  function goOn(walker: JsonWalker, line: Kept): void {
    bytes.append(line.head);
    // Where a middle was dropped, brackets cannot be counted any more.
    const stillOpen = line.tail === null && walker.walk(line.head, 0).kind === 'open';
    open = stillOpen ? walker : null;
    if (stillOpen) return;
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

/** Whether a pretty-printed object may go on in this line: not in prose, nor where another event starts in the first column. */
function mayContinue(line: Uint8Array): boolean {
  const isFresh = line[0] === OPEN_BRACE && line[1] === QUOTE;
  return !isFresh && JSON_STARTS.has(line[firstVisible(line)] ?? 0);
}

/** First bytes of a line inside a printed object: keys, brackets, separators, and values in an array. */
const JSON_STARTS: ReadonlySet<number> = new Set(new TextEncoder().encode('"{}[],:-0123456789tfn'));

/** The object that the bytes are; null when they are something else. */
export function parseObject(bytes: Kept): JsonObject | null {
  return asObject(tryParseJson(decodeKept(bytes).trim()));
}

/** A cheap look, so that no time is spent on parsing what is cut off. */
function endsObject({ head, tail }: Kept): boolean {
  const bytes = tail ?? head;
  let end = bytes.length - 1;
  while (end > 0 && (bytes[end] ?? 0) <= SPACE) end -= 1;
  return bytes[end] === CLOSE_BRACE;
}

/** Index behind the blanks, and a byte order mark, that a line begins with. */
function firstVisible(bytes: Uint8Array): number {
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (at < bytes.length && (bytes[at] ?? 0) <= SPACE) at += 1;
  return at;
}
