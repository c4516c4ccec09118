import type { Analysis, Transcript, TranscriptReader } from '../../../core/analysis/analysis.ts';
import { hasBlockMarker } from '../../../core/analysis/status-block.ts';
import { tryJson } from '../../../core/text/try-json.ts';
import {
  findLineEnd,
  type InstantSource,
  createCappedBytes,
  decodeKept,
  endsObject,
  type KeptBytes,
  readClock,
} from '../../reading/capped-bytes.ts';
import { asArray, asObject, type JsonObject } from '../../reading/json-value.ts';
import { type CliEvent, parseCliEvent } from '../events/cli-event.ts';
import {
  createEventCollector,
  ensureShownEvents,
  type StreamEvent,
  selectStreamEvents,
  buildTextEvent,
  transcriptOfText,
} from '../events/collector.ts';
import {
  introducesNextLine,
  createJsonWalker,
  endOfLine,
  findEventStart,
  findFirstVisible,
  hasProse,
  OPEN_BRACE,
  startsLikeEvent,
} from './line-bytes.ts';
import {
  findArrayIn,
  createTextLines,
  findElementsIn,
  endOfObject,
  type FoundObjects,
  isEmpty,
  findObjectsIn,
  parseObject,
} from './text-lines.ts';

type Format = Analysis['format'];

/** Observes the pieces of an output and decides its format at the end. */
interface FormatWitness {
  sawEvent(event: CliEvent, from: 'line' | 'element'): void;
  /** Called for a whole JSON object that is not an event of the CLI. */
  sawObject(): void;
  /** Called for one or more lines. */
  sawText(lines: Uint8Array): void;
  eventCount(): number;
  /** Returns true if the events may still turn out to be part of a message that quotes them. */
  mayBeQuotation(): boolean;
  /** Returns the format. `text` is the whole output or, after too many events for a quotation, the text around them. */
  format(text: string): Format;
}

/**
 * Maximum number of events in a quotation. More events are treated as a quotation only if the message begins with prose
 * and has a status block of its own.
 */
const MAX_QUOTED_EVENTS = 10;

/** One pass over an output: each line is an event or text. */
interface Reading {
  /** Takes a line with its line feed, which only the last one may lack; or the lines of one JSON value. */
  take(line: KeptBytes): void;
  /** Takes whole lines from `from` on that are text regardless of what follows; returns the index after them. */
  takeTogether(chunk: Uint8Array, from: number): number;
  /** Returns true if the next line is inside a code fence. */
  inFence(): boolean;
  eventCount(): number;
  /**
   * Returns the whole output if it is worth a second reading; null if it is long, or contains many events or broken
   * ones.
   */
  output(): Uint8Array | null;
  transcript(now: number): Transcript;
}

/**
 * Number of broken objects in a row after which the output is no longer treated as JSON, because parsing costs far more
 * than reading.
 */
const MAX_FAILURES = 10_000;

/** Maximum number of broken objects in a row that start like an event, which are worth more attempts. */
const MAX_EVENT_FAILURES = 50_000;

/** Maximum size of a tool result that is parsed just for display, in bytes. */
const MAX_SHOWN_BYTES = 64 * 1024;

const UNREAD: CliEvent = { kind: 'other', session: null };

/**
 * Beginnings of lines that the analysis ignores once the session is known; most bytes of a transcript are in them.
 * Every version of the CLI prints them in this form.
 */
const UNREAD_STARTS = ['{"type":"user","message":{"role":"user",', '{"type":"stream_event","event":{'].map((start) =>
  new TextEncoder().encode(start),
);

/**
 * `now` is the reference time for texts such as `resets 5pm`. `onEvent` gets each event as soon as it is read, or is
 * null.
 */
export interface ReaderOptions {
  readonly now: InstantSource;
  readonly onEvent: ((event: StreamEvent) => void) | null;
}

/**
 * Creates a reader that treats each line as an event or text. JSON that spans lines is found at the end, in a second
 * reading of a short output. Time is linear in the bytes; memory does not grow with the length of a transcript, and a
 * line is kept up to 5 MiB.
 */
export function createOutputReader({ now, onEvent }: ReaderOptions): TranscriptReader {
  const reading = createReading(onEvent);
  const pending = createCappedBytes();
  return { push, end };

  function push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      const isFresh = pending.length() === 0;
      const behindText = isFresh ? reading.takeTogether(chunk, at) : at;
      if (behindText > at) {
        at = behindText;
        continue;
      }
      const behind = findLineEnd(chunk, at);
      const line = chunk.subarray(at, behind === -1 ? chunk.length : behind);
      at += line.length;
      if (isFresh && behind !== -1) reading.take({ head: line, tail: null });
      else pending.append(line);
      if (!isFresh && behind !== -1) takePending();
    }
  }

  function takePending(): void {
    reading.take(pending.kept());
    pending.clear();
  }

  function end(): Transcript {
    if (pending.length() > 0) takePending();
    return (secondReading() ?? reading).transcript(readClock(now));
  }

  /**
   * Finds objects and arrays that span lines; returns null if the output is longer than the kept part, or a stream of
   * events.
   */
  function secondReading(): Reading | null {
    const output = reading.output();
    if (output === null) return null;
    const again = createReading(null);
    let at = 0;
    while (at < output.length) {
      const end = endOfPiece(output, at, again);
      again.take({ head: output.subarray(at, end), tail: null });
      at = end;
    }
    return again;
  }
}

/** Returns the index after the line at `from`, or after the object or array that begins in it outside a fence. */
function endOfPiece(bytes: Uint8Array, from: number, reading: Reading): number {
  if (reading.inFence()) return endOfLine(bytes, from);
  const first = findFirstVisible(bytes, from);
  const mayArrayCome = reading.eventCount() === 0;
  if (bytes[first] === OPEN_BRACE) return endOfObject(bytes, from, mayArrayCome);
  const array = mayArrayCome ? findElementsIn(bytes, first) : null;
  return array === null ? endOfLine(bytes, from) : bytes.length - array.behind.length;
}

/** Creates a reading. `onEvent` gets the stream as it comes, or is null. */
function createReading(onEvent: ((event: StreamEvent) => void) | null): Reading {
  const collector = createEventCollector();
  const witness = createFormatWitness();
  /**
   * Keeps the output while it may still be plain text, which is the agent's message. After many events, keeps only text
   * that is not an event.
   */
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

  function take(line: KeptBytes): void {
    if (witness.mayBeQuotation()) keep(line);
    if (texts.inFence()) return takeText(line);
    if (hasSession && isUnread(line)) {
      takeEvent(UNREAD, 'line');
      if (onEvent !== null) ensureShownEvents(shownOf(line)).forEach((shown) => onEvent(shown));
      return;
    }
    const first = findFirstVisible(line.head, 0);
    const array = eventCount() === 0 ? findArrayIn(line, first) : null;
    if (array !== null) return takeFound(array, 'element');
    const start = line.head[first] === OPEN_BRACE ? first : findEventStart(line.head, 0, line.head.length);
    const maxFailures = startsLikeEvent(line.head, start) ? MAX_EVENT_FAILURES : MAX_FAILURES;
    if (start === -1 || failures >= maxFailures) return takeText(line);
    const found = findObjectsIn(line, start);
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
    if (onEvent !== null) selectStreamEvents(event).forEach((shown) => onEvent(shown));
  }

  function takeText(line: KeptBytes): void {
    texts.take(line.head);
    takeTexts(line);
  }

  function takeTexts(lines: KeptBytes): void {
    if (!witness.mayBeQuotation()) keep(lines);
    witness.sawText(lines.head);
    if (onEvent === null) return;
    for (const line of decodeKept({ head: lines.head, tail: null }).split('\n'))
      if (line.trim() !== '') onEvent(buildTextEvent(line, false));
  }

  function keep({ head, tail }: KeptBytes): void {
    text.append(head);
    if (tail !== null) text.append(tail);
  }

  function transcript(now: number): Transcript {
    const whole = decodeKept(text.kept());
    const format = witness.format(whole);
    return format === 'text' ? transcriptOfText(whole, now) : collector.transcript(format, now);
  }
}

function shownOf(line: KeptBytes): readonly StreamEvent[] {
  const event = line.head.length > MAX_SHOWN_BYTES ? null : parseCliEvent(parseObject(line));
  return event === null ? [] : selectStreamEvents(event);
}

/**
 * Returns true if the line is an event that need not be parsed. Its first keys decide: the CLI never writes a key
 * twice.
 */
function isUnread(line: KeptBytes): boolean {
  return endsObject(line) && UNREAD_STARTS.some((start) => start.every((byte, at) => line.head[at] === byte));
}

/**
 * Distinguishes noise from quotations: tools print short lines and logs around the CLI's events. The events are a
 * quotation in a message if prose stands before and after them, if the line before announces them (`It prints this:`),
 * or if a status block is outside them.
 */
function createFormatWitness(): FormatWitness {
  let events = 0;
  let onlyResults = true;
  let inArray = false;
  let objects = 0;
  let hasText = false;
  let announced = false;
  const prose = { before: false, after: false };

  return { sawEvent, sawObject: () => void (objects += 1), sawText, eventCount: () => events, mayBeQuotation, format };

  function mayBeQuotation(): boolean {
    return events <= MAX_QUOTED_EVENTS;
  }

  function sawEvent(event: CliEvent, from: 'line' | 'element'): void {
    events += 1;
    onlyResults &&= event.kind === 'result';
    inArray ||= from === 'element';
  }

  function sawText(lines: Uint8Array): void {
    if (!mayBeQuotation()) return;
    hasText = true;
    if (events === 0) announced = introducesNextLine(lines, announced);
    const side = events === 0 ? 'before' : 'after';
    if (!prose[side]) prose[side] = hasProse(lines);
  }

  function format(text: string): Format {
    if (events > 0 && isQuotation(text)) return 'text';
    if (inArray) return 'json-array';
    if (events > 1) return 'jsonl';
    if (events === 1) return onlyResults ? 'json' : 'jsonl';
    if (objects > 1 && !hasText) return 'jsonl';
    return formatOfText(text);
  }

  /**
   * Returns true if a message quotes the events. A status block's marker alone on a line shows this: in the CLI's own
   * events, it is inside a string.
   */
  function isQuotation(text: string): boolean {
    if (!mayBeQuotation()) return prose.before && hasBlockMarker(text);
    return (prose.before && prose.after) || announced || hasBlockMarker(text);
  }
}

/** Returns the format of an output without events; JSON that is truncated or has another form keeps its format. */
function formatOfText(text: string): Format {
  const trimmed = text.trim();
  if (/^\{\s*"/.test(trimmed) && isJsonSoFar(trimmed)) return 'json';
  if (/^\[\s*\{\s*"/.test(trimmed) && isJsonSoFar(trimmed)) return 'json-array';
  const lastLine = trimmed.slice(trimmed.lastIndexOf('\n') + 1);
  return /^\{"(?:type|session_id|duration_api_ms)":/.test(lastLine) && isCutOff(lastLine) ? 'json' : 'text';
}

function isJsonSoFar(text: string): boolean {
  if (isCutOff(text)) return true;
  const value = tryJson(text);
  return asObject(value) !== null || asArray(value).length > 0;
}

function isCutOff(text: string): boolean {
  const bytes = new TextEncoder().encode(text);
  return createJsonWalker().walk(bytes, 0, bytes.length).kind === 'open';
}
