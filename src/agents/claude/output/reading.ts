import type { Transcript } from '../../../core/analysis/transcript.ts';
import { parseCliEvent, type CliEvent } from '../events/cli-event.ts';
import { createEventCollector, transcriptOfText } from '../events/collector.ts';
import type { JsonObject } from '../../reading/json.ts';
import { orUnshown, streamEventsOf, textEvent, type StreamEvent } from '../events/stream-event.ts';
import { createCappedBytes, decodeKept, type Kept } from '../../reading/capped-bytes.ts';
import { endsObject } from '../../reading/line-ends.ts';
import { createFormatWitness } from './formats.ts';
import { eventStart, firstVisible, OPEN_BRACE, startsLikeEvent } from './line-bytes.ts';
import { arrayIn, isEmpty, objectsIn, parseObject, type FoundObjects } from './objects.ts';
import { createTextLines } from './text-lines.ts';

/** What the lines of an output come to: each is an event, or text. */
export interface Reading {
  /** Takes a line with its line feed, which only the last one may lack; or the lines of one JSON value. */
  take(line: Kept): void;
  /** Takes the whole lines from `from` on that are text whatever follows them; index behind them. */
  takeTogether(chunk: Uint8Array, from: number): number;
  /** Whether what comes next is quoted. */
  inFence(): boolean;
  eventCount(): number;
  /** All that was taken, if it is worth another look; null: it is long, or many events or broken ones are in it. */
  output(): Uint8Array | null;
  transcript(now: number): Transcript;
}

/** After this many broken objects in a row the output is not JSON; parsing further would cost far more than reading. */
const MAX_FAILURES = 10_000;
/** What starts like an event is worth more failures, but not endlessly many. */
const MAX_EVENT_FAILURES = 50_000;

/** `onEvent` sees the stream as it comes; null: nobody looks. */
export function createReading(onEvent: ((event: StreamEvent) => void) | null): Reading {
  const collector = createEventCollector();
  const witness = createFormatWitness();
  /** Keeps the output while it may still be plain text, which is the agent's message. After many events, keeps only text that is not an event. */
  const text = createCappedBytes();
  const texts = createTextLines();
  let hasSession = false;
  let failures = 0;
  const { eventCount } = witness;
  return { take, takeTogether, inFence: texts.inFence, eventCount, output, transcript };

  function output(): Uint8Array | null {
    const { head, tail } = text.kept();
    return witness.mayBeQuotation() && tail === null && failures < MAX_EVENT_FAILURES ? head : null;
  }

  function takeTogether(chunk: Uint8Array, from: number): number {
    const to = texts.takeTogether(chunk, from, { object: failures < MAX_FAILURES, array: eventCount() === 0 });
    if (to === from) return from;
    const lines = { head: chunk.subarray(from, to), tail: null };
    if (witness.mayBeQuotation()) keep(lines);
    takeTexts(lines);
    return to;
  }

  function take(line: Kept): void {
    if (witness.mayBeQuotation()) keep(line);
    if (texts.inFence()) return takeText(line);
    if (hasSession && isUnread(line)) {
      takeEvent(UNREAD, 'line');
      if (onEvent !== null) orUnshown(shownOf(line)).forEach((shown) => onEvent(shown));
      return;
    }
    const first = firstVisible(line.head, 0);
    const array = eventCount() === 0 ? arrayIn(line, first) : null;
    if (array !== null) return takeFound(array, 'element');
    const start = line.head[first] === OPEN_BRACE ? first : eventStart(line.head, 0, line.head.length);
    const maxFailures = startsLikeEvent(line.head, start) ? MAX_EVENT_FAILURES : MAX_FAILURES;
    if (start === -1 || failures >= maxFailures) return takeText(line);
    const found = objectsIn(line, start);
    failures = found === null ? failures + 1 : 0;
    if (found === null) takeText(line);
    else takeFound(found, 'line');
  }

  function takeFound({ before, objects, behind }: FoundObjects, from: 'line' | 'element'): void {
    takeNoise(before);
    for (const object of objects) takeObject(object, from);
    takeNoise(behind);
  }

  function takeNoise(noise: Uint8Array): void {
    if (!isEmpty(noise)) takeText({ head: noise, tail: null });
  }

  function takeObject(object: JsonObject, from: 'line' | 'element'): void {
    const event = parseCliEvent(object);
    if (event === null && from === 'line') witness.sawObject();
    if (event === null) return;
    takeEvent(event, from);
    show(event);
  }

  function takeEvent(event: CliEvent, from: 'line' | 'element'): void {
    hasSession ||= event.session !== null;
    texts.ignoreFences();
    witness.sawEvent(event, from);
    collector.add(event);
  }

  function show(event: CliEvent): void {
    if (onEvent !== null) streamEventsOf(event).forEach((shown) => onEvent(shown));
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

  function transcript(now: number): Transcript {
    const whole = decodeKept(text.kept());
    const format = witness.format(whole);
    return format === 'text' ? transcriptOfText(whole, now) : collector.transcript(format, now);
  }
}

/** Longer lines of tool results are not parsed just to be shown. */
const MAX_SHOWN_BYTES = 64 * 1024;

function shownOf(line: Kept): readonly StreamEvent[] {
  const event = line.head.length > MAX_SHOWN_BYTES ? null : parseCliEvent(parseObject(line));
  return event === null ? [] : streamEventsOf(event);
}

const UNREAD: CliEvent = { kind: 'other', session: null };
/** Lines of which the analysis uses nothing once the session is known; most bytes of a transcript are in them. Every version of the CLI prints them so. */
const UNREAD_STARTS = ['{"type":"user","message":{"role":"user",', '{"type":"stream_event","event":{'].map((start) =>
  new TextEncoder().encode(start),
);

/** Whether the line is an event that need not be parsed. Its first keys decide: the CLI never writes a key twice. */
function isUnread(line: Kept): boolean {
  return endsObject(line) && UNREAD_STARTS.some((start) => start.every((byte, at) => line.head[at] === byte));
}
