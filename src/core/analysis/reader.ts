import type { Analysis } from './analysis.ts';
import { createCappedBytes, decodeKept } from './capped-bytes.ts';
import type { Kept } from './capped-bytes.ts';
import { readCliEvent } from './cli-event.ts';
import type { CliEvent } from './cli-event.ts';
import { createFormatWitness } from './formats.ts';
import { judgeOutput } from './judge.ts';
import { createObjectFinder, parseObject } from './objects.ts';
import type { JsonObject } from './json.ts';
import { createSplitter } from './splitter.ts';
import { streamEventsOf, textEvent } from './stream-event.ts';
import type { StreamEvent } from './stream-event.ts';
import { createTextLines } from './text-lines.ts';
import { createTranscript } from './transcript.ts';

/** Turns the bytes that an agent printed into an analysis, in one pass; never throws for what they are. */
export interface OutputReader {
  push(chunk: Uint8Array): void;
  /** To be called once, after the last chunk. */
  end(): Analysis;
  /** Characters of the final message; known after `end`. */
  finalChars(): number;
  /** Whether the final message ends in a status block that does not count because it is fenced; known after `end`. */
  endsInFencedBlock(): boolean;
}

/** `now`: the instant (ms) from which texts such as `resets 5pm` are understood. `onEvent` sees the stream as it comes. */
export interface ReaderOptions {
  readonly now: number;
  readonly onEvent?: (event: StreamEvent) => void;
}

/** Time is linear in the bytes; memory does not grow with the length of a transcript, a single line is kept up to 5 MiB. */
export function createOutputReader({ now, onEvent }: ReaderOptions): OutputReader {
  const transcript = createTranscript();
  const witness = createFormatWitness();
  /** The output for as long as it may turn out to be plain text: then it is the agent's message. */
  const text = createCappedBytes();
  let final = { chars: 0, endsInFencedBlock: false };

  const texts = createTextLines();
  const objects = createObjectFinder({ mayStart: () => !texts.inFence(), object: takeObject, text: takeText });
  const splitter = createSplitter({
    line: takeLine,
    lines: takeLines,
    mayOpenArray: () => witness.eventCount() === 0 && !texts.inFence(),
    element: (element) => takeEvent(readCliEvent(parseObject(element)), 'element'),
    arrayBytes: keepText,
  });
  return { push: splitter.push, end, finalChars: () => final.chars, endsInFencedBlock: () => final.endsInFencedBlock };

  function takeLine(line: Kept): void {
    keepText(line.head);
    if (line.tail !== null) keepText(line.tail);
    if (isUnread(line, onEvent ? MAX_SHOWN_BYTES : 0) && !texts.inFence()) takeEvent(UNREAD, 'line');
    else objects.take(line);
  }

  function takeLines(chunk: Uint8Array, from: number, mayArrayCome: boolean): number {
    const isText = !objects.isOpen();
    const array = mayArrayCome && witness.eventCount() === 0;
    const to = isText ? texts.takeTogether(chunk, from, { object: objects.isLooking(), array }) : objects.takeTogether(chunk, from, array);
    if (to === from) return from;
    const lines = chunk.subarray(from, to);
    keepText(lines);
    if (isText) takeTexts(lines);
    return to;
  }

  function takeObject(object: JsonObject): void {
    const event = readCliEvent(object);
    if (event === null) witness.sawObject();
    else takeEvent(event, 'line');
  }

  function takeEvent(event: CliEvent | null, from: 'line' | 'element'): void {
    if (event === null) return;
    texts.ignoreFences();
    witness.sawEvent(event, from);
    transcript.add(event);
    if (onEvent) streamEventsOf(event).forEach((shown) => onEvent(shown));
  }

  function takeText(line: Kept): void {
    texts.take(line.head);
    takeTexts(line.head);
  }

  function takeTexts(lines: Uint8Array): void {
    witness.sawText(lines);
    if (onEvent === undefined) return;
    for (const line of decodeKept({ head: lines, tail: null }).split('\n')) if (line.trim() !== '') onEvent(textEvent(line, false));
  }

  function keepText(bytes: Uint8Array): void {
    if (witness.mayBeQuotation()) text.append(bytes);
  }

  function end(): Analysis {
    splitter.end();
    const output = decodeKept(text.kept());
    const format = witness.format(output);
    const judged = judgeOutput(format === 'text' ? { format, text: output } : { format, summary: transcript.summary() }, now);
    final = judged.final;
    return judged.analysis;
  }
}

/** Longer lines of tool results are not parsed just to be shown. */
const MAX_SHOWN_BYTES = 64 * 1024;

const UNREAD: CliEvent = { kind: 'other', session: null };
/** Lines of which nothing is used for the analysis; most bytes of a transcript are in them. */
const UNREAD_STARTS = ['{"type":"user",', '{"type":"stream_event",'].map((start) => new TextEncoder().encode(start));
const CLOSE_BRACE = 0x7d;

/** Whether the line is an event that need not be parsed. Its first key decides: the CLI never writes a key twice. */
function isUnread({ head, tail }: Kept, parsedUpTo: number): boolean {
  const last = tail ?? head;
  const isWhole = last[last.length - 1] === CLOSE_BRACE || last[last.length - 2] === CLOSE_BRACE;
  return isWhole && head.length > parsedUpTo && UNREAD_STARTS.some((start) => start.every((byte, at) => head[at] === byte));
}
