import type { Transcript, TranscriptReader } from '../../../core/analysis/transcript.ts';
import { parseCliEvent } from '../events/cli-event.ts';
import type { CliEvent } from '../events/cli-event.ts';
import { createEventCollector, transcriptOfText } from '../events/collector.ts';
import type { JsonObject } from '../events/json.ts';
import { streamEventsOf, textEvent } from '../events/stream-event.ts';
import type { StreamEvent } from '../events/stream-event.ts';
import { createCappedBytes, decodeKept } from './capped-bytes.ts';
import type { Kept } from './capped-bytes.ts';
import { createFormatWitness } from './formats.ts';
import { SPACE } from './line-bytes.ts';
import { createObjectFinder, parseObject } from './objects.ts';
import { createSplitter } from './splitter.ts';
import { createTextLines } from './text-lines.ts';

/** `now`: the instant (ms) from which texts such as `resets 5pm` are understood. `onEvent` sees the stream as it comes; null: nobody looks. */
export interface ReaderOptions {
  readonly now: number;
  readonly onEvent: ((event: StreamEvent) => void) | null;
}

/** Time is linear in the bytes; memory does not grow with the length of a transcript, a single line is kept up to 5 MiB. */
export function createOutputReader({ now, onEvent }: ReaderOptions): TranscriptReader {
  const collector = createEventCollector();
  const witness = createFormatWitness();
  /** The output for as long as it may turn out to be plain text, which is the agent's message; behind many events only what is none. */
  const text = createCappedBytes();
  let hasSession = false;

  const texts = createTextLines();
  const objects = createObjectFinder({ mayStart: () => !texts.inFence(), object: takeObject, text: takeText });
  const splitter = createSplitter({
    line: takeLine,
    lines: takeLines,
    mayOpenArray: () => witness.eventCount() === 0 && !texts.inFence(),
    element: (element) => takeEvent(parseCliEvent(parseObject(element)), 'element'),
    arrayBytes: (bytes) => {
      if (witness.mayBeQuotation()) text.append(bytes);
    },
  });
  return { push: splitter.push, end };

  function takeLine(line: Kept): void {
    if (witness.mayBeQuotation()) keep(line);
    if (!hasSession || !isUnread(line) || texts.inFence()) return objects.take(line);
    takeEvent(UNREAD, 'line');
    if (onEvent !== null && line.head.length <= MAX_SHOWN_BYTES) show(parseCliEvent(parseObject(line)));
  }

  function takeLines(chunk: Uint8Array, from: number, mayArrayCome: boolean): number {
    const isText = !objects.isOpen();
    const array = mayArrayCome && witness.eventCount() === 0;
    const to = isText
      ? texts.takeTogether(chunk, from, { object: objects.isLooking(), array })
      : objects.takeTogether(chunk, from, array);
    if (to === from) return from;
    const lines = { head: chunk.subarray(from, to), tail: null };
    if (witness.mayBeQuotation()) keep(lines);
    if (isText) takeTexts(lines);
    return to;
  }

  function takeObject(object: JsonObject): void {
    const event = parseCliEvent(object);
    if (event === null) witness.sawObject();
    else takeEvent(event, 'line');
  }

  function takeEvent(event: CliEvent | null, from: 'line' | 'element'): void {
    if (event === null) return;
    hasSession ||= event.session !== null;
    texts.ignoreFences();
    witness.sawEvent(event, from);
    collector.add(event);
    show(event);
  }

  function show(event: CliEvent | null): void {
    if (onEvent !== null && event !== null) streamEventsOf(event).forEach((shown) => onEvent(shown));
  }

  function takeText(line: Kept): void {
    texts.take(line.head);
    takeTexts(line);
  }

  function takeTexts(lines: Kept): void {
    if (!witness.mayBeQuotation()) keep(lines);
    witness.sawText(lines.head);
    if (onEvent === null) return;
    for (const line of decodeKept({ head: lines.head, tail: null }).split('\n'))
      if (line.trim() !== '') onEvent(textEvent(line, false));
  }

  function keep({ head, tail }: Kept): void {
    text.append(head);
    if (tail !== null) text.append(tail);
  }

  function end(): Transcript {
    splitter.end();
    const output = decodeKept(text.kept());
    const format = witness.format(output);
    return format === 'text' ? transcriptOfText(output, now) : collector.transcript(format, now);
  }
}

/** Longer lines of tool results are not parsed just to be shown. */
const MAX_SHOWN_BYTES = 64 * 1024;

const UNREAD: CliEvent = { kind: 'other', session: null };
/** Lines of which the analysis uses nothing once the session is known; most bytes of a transcript are in them. Every version of the CLI prints them so. */
const UNREAD_STARTS = ['{"type":"user","message":{"role":"user",', '{"type":"stream_event","event":{'].map((start) =>
  new TextEncoder().encode(start),
);
const CLOSE_BRACE = 0x7d;

/** Whether the line is an event that need not be parsed. Its first keys decide: the CLI never writes a key twice. */
function isUnread({ head, tail }: Kept): boolean {
  const bytes = tail ?? head;
  let last = bytes.length - 1;
  while (last > 0 && (bytes[last] ?? 0) <= SPACE) last -= 1;
  return bytes[last] === CLOSE_BRACE && UNREAD_STARTS.some((start) => start.every((byte, at) => head[at] === byte));
}
