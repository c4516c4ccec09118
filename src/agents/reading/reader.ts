import type { Transcript, TranscriptReader } from '../../core/analysis/transcript.ts';
import { tryJson } from '../../core/text/try-json.ts';
import type { AgentEvent } from './agent-event.ts';
import { createCappedBytes, decodeKept, type Kept } from './capped-bytes.ts';
import { createEventCollector, type CollectorOptions } from './collector.ts';
import { asObject } from './json.ts';
import { behindLine, endsObject } from './line-ends.ts';

/** `onEvent` sees the events as they come; null: nobody looks. */
export interface ReaderOptions extends CollectorOptions {
  readonly onEvent: ((event: AgentEvent) => void) | null;
}

/** Shorter lines are parsed at once: looking at them first would cost as much. */
const LONG_LINE_BYTES = 1024;
/** So far a line is looked at to tell whether it need not be parsed. */
const LOOK_BYTES = 512;
const MAX_TEXT_BYTES = 16 * 1024;

/**
 * Reads the lines of JSON that a CLI prints. One reader reads one stream: what a process prints on stderr goes to a reader of its own.
 * Time is linear in the bytes; memory does not grow with the length of the output, a line is kept up to 5 MiB.
 */
export function createAgentReader({ onEvent, ...options }: ReaderOptions): TranscriptReader {
  const { dialect } = options;
  const parse = dialect.createParser();
  const collector = createEventCollector(options);
  const pending = createCappedBytes();
  /** The beginning of what is no event. */
  let text = '';
  return { push, end };

  function push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      const behind = behindLine(chunk, at);
      const line = chunk.subarray(at, behind === -1 ? chunk.length : behind);
      at += line.length;
      if (pending.length() === 0 && behind !== -1) takeLine({ head: line, tail: null });
      else pending.append(line);
      if (pending.length() > 0 && behind !== -1) takePending();
    }
  }

  function takePending(): void {
    takeLine(pending.kept());
    pending.clear();
  }

  function takeLine(line: Kept): void {
    if (isUnread(line)) return take(ACTIVITY);
    const decoded = decodeKept(line).trim();
    if (decoded === '') return;
    const object = decoded.startsWith('{') ? asObject(tryJson(decoded)) : null;
    const events = object && parse(object);
    if (events === null) takeText(decoded);
    else events.forEach(take);
  }

  /** What is cut off is not taken for a line of the CLI. */
  function isUnread(line: Kept): boolean {
    if (line.head.length < LONG_LINE_BYTES || !endsObject(line)) return false;
    return dialect.unread.test(latin1.decode(line.head.subarray(0, LOOK_BYTES)));
  }

  function takeText(line: string): void {
    const retry = dialect.parseText(line);
    if (retry !== null) take(retry);
    else if (text.length < MAX_TEXT_BYTES) text += `${line.slice(0, MAX_TEXT_BYTES)}\n`;
  }

  function take(event: AgentEvent): void {
    collector.add(event);
    onEvent?.(event);
  }

  function end(): Transcript {
    if (pending.length() > 0) takePending();
    return collector.transcript(text);
  }
}

const ACTIVITY: AgentEvent = { kind: 'activity' };
const latin1 = new TextDecoder('latin1');
