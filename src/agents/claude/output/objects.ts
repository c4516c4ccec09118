import { tryJson } from '../../../core/text/try-json.ts';
import { asObject, type JsonObject } from '../../reading/json.ts';
import { decodeKept, type Kept } from '../../reading/capped-bytes.ts';
import { createJsonWalker } from './json-walker.ts';
import {
  COMMA,
  endOfLine,
  firstInArray,
  firstVisible,
  isBlank,
  OPEN_BRACE,
  opensArray,
  startsLikeEvent,
} from './line-bytes.ts';
import { endsObject, LINE_FEED } from '../../reading/line-ends.ts';
import { hasProse } from './noise.ts';

/** JSON in a line, and the noise around it, which is text. */
export interface FoundObjects {
  readonly before: Uint8Array;
  readonly objects: readonly JsonObject[];
  readonly behind: Uint8Array;
}

const CLOSE_BRACKET = 0x5d;
const QUOTE = 0x22;

/** Returns the object that begins at `start` and ends the line, or several events on one line; null if there is no such object. */
export function objectsIn(line: Kept, start: number): FoundObjects | null {
  const rest = { head: line.head.subarray(start), tail: line.tail };
  const object = endsObject(rest) ? parseObject(rest) : null;
  if (object === null) return gluedObjects(line, start);
  return { before: line.head.subarray(0, start), objects: [object], behind: NOTHING };
}

const NOTHING = new Uint8Array(0);

/** Events on one line, with noise behind them; in prose they are quoted, and before a comma they are elements. */
function gluedObjects({ head, tail }: Kept, start: number): FoundObjects | null {
  const objects: JsonObject[] = [];
  let at = start;
  while (tail === null && startsLikeEvent(head, at)) {
    const walk = createJsonWalker().walk(head, at, head.length);
    // What stands alone on its line was no object.
    if (walk.kind !== 'closed' || (at === start && isEmpty(head.subarray(walk.at)))) break;
    const object = parseObject({ head: head.subarray(at, walk.at), tail });
    if (object === null) break;
    objects.push(object);
    at = firstVisible(head, walk.at);
  }
  const behind = head.subarray(at);
  if (objects.length === 0 || head[at] === COMMA || (head[at] !== OPEN_BRACE && hasProse(behind))) return null;
  return { before: head.subarray(0, start), objects, behind };
}

/** An array of objects, as far as it goes. */
interface FoundArray extends FoundObjects {
  readonly isWhole: boolean;
}

/** The array of objects that opens at `start`, on one line or several; null: none does. */
export function elementsIn(bytes: Uint8Array, start: number): FoundArray | null {
  if (!opensArray(bytes, start)) return null;
  const objects: JsonObject[] = [];
  let at = firstInArray(bytes, start + 1);
  while (bytes[at] === OPEN_BRACE) {
    const walk = createJsonWalker().walk(bytes, at, bytes.length);
    if (walk.kind === 'closed') {
      const object = parseObject({ head: bytes.subarray(at, walk.at), tail: null });
      if (object !== null) objects.push(object);
    }
    at = walk.kind === 'open' ? bytes.length : walk.kind === 'closed' ? firstInArray(bytes, walk.at) : walk.at;
  }
  const isWhole = bytes[at] === CLOSE_BRACKET;
  return { before: bytes.subarray(0, start), objects, behind: bytes.subarray(isWhole ? at + 1 : at), isWhole };
}

/** The objects of an array that the line is, though it may break off; of one too long to keep, what is left. */
export function arrayIn(line: Kept, start: number): FoundObjects | null {
  if (line.tail !== null) return elementsOfCut(line, start);
  const array = elementsIn(line.head, start);
  return array !== null && (array.isWhole || array.behind.length === 0) ? array : null;
}

/** What is left of an array on a line that lost its middle: its first elements, and the events behind the gap. */
function elementsOfCut({ head, tail }: Kept, start: number): FoundObjects | null {
  const first = elementsIn(head, start);
  if (first === null || tail === null) return null;
  const objects = [...first.objects];
  for (let at = tail.indexOf(COMMA); at !== -1; at = tail.indexOf(COMMA, at)) {
    at += 1;
    // In a string the quotation marks of an event are escaped.
    if (!startsLikeEvent(tail, at)) continue;
    const walk = createJsonWalker().walk(tail, at, tail.length);
    if (walk.kind !== 'closed') break;
    const object = parseObject({ head: tail.subarray(at, walk.at), tail: null });
    if (object !== null) objects.push(object);
    at = walk.at;
  }
  return { before: first.before, objects, behind: NOTHING };
}

/** Index behind the lines of a pretty-printed object that begins in the line at `from`, or breaks off; an array of events breaks it off if it may come. */
export function endOfObject(bytes: Uint8Array, from: number, mayArrayCome: boolean): number {
  const walker = createJsonWalker();
  let end = from;
  do {
    const start = end;
    end = endOfLine(bytes, start);
    if (walker.walk(bytes, start, end).kind !== 'open') return end;
  } while (mayContinue(bytes, end) && !(mayArrayCome && opensArray(bytes, firstVisible(bytes, end))));
  return end;
}

/** Whether a pretty-printed object may continue in this line: not in prose, nor where another event starts in the first column. */
function mayContinue(bytes: Uint8Array, from: number): boolean {
  const isFresh = bytes[from] === OPEN_BRACE && bytes[from + 1] === QUOTE;
  return !isFresh && JSON_STARTS.has(bytes[firstVisible(bytes, from)] ?? 0);
}

/** First bytes of a line inside a printed object: keys, brackets, separators, and values in an array. */
const JSON_STARTS: ReadonlySet<number> = new Set(new TextEncoder().encode('"{}[],:-0123456789tfn'));

export function isEmpty(bytes: Uint8Array): boolean {
  return bytes.every((byte) => isBlank(byte) || byte === LINE_FEED);
}

/** The object that the bytes are; null when they are something else. */
export function parseObject(bytes: Kept): JsonObject | null {
  return asObject(tryJson(decodeKept(bytes).trim()));
}
