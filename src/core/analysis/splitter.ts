import { createCappedBytes } from './capped-bytes.ts';
import type { Kept } from './capped-bytes.ts';
import { createJsonWalker } from './json-walker.ts';
import type { JsonWalker } from './json-walker.ts';

/** Takes the pieces of an output as they become whole. Bytes given are valid during the call only. */
export interface PieceSink {
  /** One line with its line feed, which only the last one may lack. */
  line(line: Kept): void;
  /** Whether short lines may be given together here. */
  mayTakeTogether(): boolean;
  /** Whole lines of less than `SHORT_LINE` bytes, without brackets and marks of fences. */
  shortLines(lines: Uint8Array): void;
  /** Whether a `[` at the start of a line may open an array of events here. */
  mayOpenArray(): boolean;
  /** One object inside such an array. */
  element(element: Kept): void;
  /** Every byte of such an array, elements included. */
  arrayBytes(bytes: Uint8Array): void;
}

export interface Splitter {
  push(chunk: Uint8Array): void;
  end(): void;
}

/** Bytes of a line, with its line feed, that are too few for prose. */
export const SHORT_LINE = 12;

const LINE_FEED = 0x0a;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const BACKTICK = 0x60;
const TILDE = 0x7e;
const MARK_START = 0xef;

/**
 * Splits bytes into lines, and an array of objects into its elements, whatever the chunks.
 * Linear in time; of one line or element no more than a cap is kept.
 */
export function createSplitter(sink: PieceSink): Splitter {
  const pending = createCappedBytes();
  let element: JsonWalker = createJsonWalker();
  /** `indent`: blanks so far; `bracket`: `[` and blanks so far; `array`: between two elements. */
  let mode: 'indent' | 'bracket' | 'line' | 'array' | 'element' = 'indent';

  return { push, end };

  function push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      if (mode === 'line') at = takeLine(chunk, at);
      else if (mode === 'indent') at = takeIndent(chunk, at);
      else if (mode === 'bracket') at = takeBracket(chunk, at);
      else if (mode === 'array') at = takeBetween(chunk, at);
      else at = takeElement(chunk, at);
    }
  }

  function end(): void {
    if (mode === 'element') sink.arrayBytes(pending.kept().head);
    else if (pending.length() > 0) sink.line(pending.kept());
    pending.clear();
  }

  function takeLine(chunk: Uint8Array, from: number): number {
    const lineFeed = chunk.indexOf(LINE_FEED, from);
    if (lineFeed === -1) {
      pending.append(chunk.subarray(from));
      return chunk.length;
    }
    endLine(chunk.subarray(from, lineFeed + 1));
    return lineFeed + 1;
  }

  function endLine(rest: Uint8Array): void {
    mode = 'indent';
    if (pending.length() === 0) return sink.line({ head: rest, tail: null });
    pending.append(rest);
    sink.line(pending.kept());
    pending.clear();
  }

  function takeIndent(chunk: Uint8Array, from: number): number {
    const behind = pending.length() === 0 && sink.mayTakeTogether() ? endOfShortLines(chunk, from) : from;
    if (behind > from) {
      sink.shortLines(chunk.subarray(from, behind));
      return behind;
    }
    let at = from;
    while (at < chunk.length && isBlank(chunk[at])) at += 1;
    if (at === chunk.length || chunk[at] !== OPEN_BRACKET || !sink.mayOpenArray()) {
      // Nothing to decide: the blanks are the beginning of a line.
      if (at === chunk.length) pending.append(chunk.subarray(from));
      else mode = 'line';
      return at === chunk.length ? at : from;
    }
    pending.append(chunk.subarray(from, at + 1));
    mode = 'bracket';
    return at + 1;
  }

  function takeBracket(chunk: Uint8Array, from: number): number {
    let at = from;
    while (at < chunk.length && (isBlank(chunk[at]) || chunk[at] === LINE_FEED)) at += 1;
    pending.append(chunk.subarray(from, at));
    if (at === chunk.length) return at;
    if (chunk[at] === OPEN_BRACE) {
      sink.arrayBytes(pending.kept().head);
      pending.clear();
      mode = 'array';
    } else {
      mode = 'line';
    }
    return at;
  }

  function takeBetween(chunk: Uint8Array, from: number): number {
    const byte = chunk[from];
    if (byte === OPEN_BRACE) {
      element = createJsonWalker();
      mode = 'element';
      return from;
    }
    if (byte !== LINE_FEED && byte !== COMMA && !isBlank(byte)) mode = 'line';
    if (mode === 'line' && byte !== CLOSE_BRACKET) return from;
    sink.arrayBytes(chunk.subarray(from, from + 1));
    return from + 1;
  }

  function takeElement(chunk: Uint8Array, from: number): number {
    const walk = element.walk(chunk, from);
    const to = walk.kind === 'open' ? chunk.length : walk.at;
    pending.append(chunk.subarray(from, to));
    if (walk.kind === 'closed') {
      const kept = pending.kept();
      sink.arrayBytes(kept.head);
      sink.element(kept);
      pending.clear();
      mode = 'array';
    } else if (walk.kind === 'broken') {
      mode = 'line';
    }
    return to;
  }
}

/** Index behind the whole short lines that start at `from`; taking them one by one would cost far more than reading. */
function endOfShortLines(chunk: Uint8Array, from: number): number {
  let end = from;
  for (let at = from; at < chunk.length && at - end < SHORT_LINE; at += 1) {
    const byte = chunk[at];
    if (byte === LINE_FEED) end = at + 1;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET || byte === BACKTICK || byte === TILDE || byte === MARK_START) break;
  }
  return end;
}

/** The bytes of a byte order mark count as blanks too: they are kept, and a line may begin behind them. */
function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === 0xef || byte === 0xbb || byte === 0xbf;
}
