import { createCappedBytes } from './capped-bytes.ts';
import type { Kept } from './capped-bytes.ts';
import { createJsonWalker } from './json-walker.ts';
import type { JsonWalker } from './json-walker.ts';
import { firstVisible, isBlank, LINE_FEED, OPEN_BRACE, OPEN_BRACKET } from './line-bytes.ts';

/** Takes the pieces of an output as they become whole. Bytes given are valid during the call only. */
export interface PieceSink {
  /** One line with its line feed, which only the last one may lack. */
  line(line: Kept): void;
  /** Takes whole lines from `from` on together, as many as it can; index behind them. Taking them one by one would cost far more than reading. */
  lines(chunk: Uint8Array, from: number, mayArrayCome: boolean): number;
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

/** So many arrays without an event, and none will come. */
const MAX_ARRAYS = 10_000;

const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;

/**
 * Splits bytes into lines, and an array of objects into its elements, whatever the chunks.
 * Linear in time; of one line or element no more than a cap is kept.
 */
export function createSplitter(sink: PieceSink): Splitter {
  const pending = createCappedBytes();
  let element: JsonWalker = createJsonWalker();
  let arrays = 0;
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
    const mayArrayCome = arrays < MAX_ARRAYS;
    const behind = pending.length() === 0 ? sink.lines(chunk, from, mayArrayCome) : from;
    if (behind > from) return behind;
    const at = firstVisible(chunk, from);
    if (at === chunk.length || chunk[at] !== OPEN_BRACKET || !mayArrayCome || !sink.mayOpenArray()) {
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
      arrays += 1;
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
    const walk = element.walk(chunk, from, chunk.length);
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
