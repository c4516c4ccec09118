import type { Analysis } from './analysis.ts';
import { decodeKept } from './capped-bytes.ts';
import type { Kept } from './capped-bytes.ts';
import type { CliEvent } from './cli-event.ts';
import { asArray, asObject, tryParseJson } from './json.ts';
import { createJsonWalker } from './json-walker.ts';
import { closesFence, fenceOpenedBy } from './markdown-code.ts';
import { SHORT_LINE } from './splitter.ts';

export type Format = Analysis['format'];

/** Watches the pieces of an output go by and says in the end what they were. */
export interface FormatWitness {
  sawEvent(event: CliEvent, from: 'line' | 'element'): void;
  /** A whole JSON object that is no event of the CLI. */
  sawObject(): void;
  sawText(line: Kept): void;
  /** Lines too short for prose, none of which opens or closes a fence. */
  sawShortLines(lines: Uint8Array): void;
  /** Whether what comes now is quoted in a Markdown fence, and so no event. A fence after the first event is noise. */
  inFence(): boolean;
  eventCount(): number;
  /** Whether the output may still turn out to be a message that quotes the events. */
  mayBeQuotation(): boolean;
  /** `text`: the output, at least for as long as it may be a quotation. */
  format(text: string): Format;
}

/** So much of a line tells noise from prose. */
const LOOK_BYTES = 256;
/** Nobody quotes more events in a message. */
const MAX_QUOTED_EVENTS = 10;

/**
 * Noise or quotation: what tools print around the CLI's events is short lines and logs. The events are a quotation in a message
 * if prose stands before and after them, if the line before them announces them (`It prints this:`), or if a status block stands outside them.
 */
export function createFormatWitness(): FormatWitness {
  let events = 0;
  let onlyResults = true;
  let inArray = false;
  let objects = 0;
  let texts = 0;
  let fence: string | null = null;
  let announced = false;
  const prose = { before: false, after: false };

  return { sawEvent, sawObject: () => void (objects += 1), sawText, sawShortLines, inFence: () => fence !== null && events === 0, eventCount: () => events, mayBeQuotation, format };

  function mayBeQuotation(): boolean {
    return events <= MAX_QUOTED_EVENTS;
  }

  function sawEvent(event: CliEvent, from: 'line' | 'element'): void {
    events += 1;
    onlyResults &&= event.kind === 'result';
    inArray ||= from === 'element';
  }

  function sawText(line: Kept): void {
    if (!mayBeQuotation()) return;
    texts += 1;
    if (events === 0) {
      fence = fenceBehind(line.head, fence);
      announced = announces(line.head, announced);
    }
    const side = events === 0 ? 'before' : 'after';
    if (!prose[side] && line.head.length > SHORT_LINE) prose[side] = wordsIn(line.head.subarray(0, LOOK_BYTES)).split('\n').some(isProse);
  }

  function sawShortLines(lines: Uint8Array): void {
    texts += 1;
    announced &&= events > 0 || lines.every((byte) => byte <= SPACE);
  }

  function format(text: string): Format {
    if (events > 0 && mayBeQuotation() && ((prose.before && prose.after) || announced || BLOCK_OUTSIDE.test(text))) return 'text';
    if (inArray) return 'json-array';
    if (events > 1) return 'jsonl';
    if (events === 1) return onlyResults ? 'json' : 'jsonl';
    if (objects > 1 && texts === 0) return 'jsonl';
    return formatOfText(text);
  }
}

const BACKTICK = 0x60;
const TILDE = 0x7e;
const COLON = 0x3a;
const SPACE = 0x20;
const LINE_FEED = 0x0a;

/** The fence that is open behind the line. */
function fenceBehind(line: Uint8Array, open: string | null): string | null {
  if (!hasThree(line, BACKTICK) && !hasThree(line, TILDE)) return open;
  // The bare fence is by far the commonest; decoding it would cost more than all the rest.
  if (line.length === 4 && line[0] === BACKTICK && line[3] === LINE_FEED && (open === null || open === '```')) return open === null ? '```' : null;
  let fence = open;
  for (const words of wordsIn(line.subarray(0, LOOK_BYTES)).split('\n')) {
    if (fence === null) fence = fenceOpenedBy(words);
    else if (closesFence(words, fence)) fence = null;
  }
  return fence;
}

/** Whether the line announces what comes next; a blank line leaves it at that. */
function announces(line: Uint8Array, before: boolean): boolean {
  let end = line.length;
  while (end > 0 && (line[end - 1] ?? 0) <= SPACE) end -= 1;
  if (end === 0) return before;
  if (line[end - 1] !== COLON || end < SHORT_LINE) return false;
  return isProse(wordsIn(line.subarray(Math.max(0, end - LOOK_BYTES), end)));
}

function hasThree(line: Uint8Array, mark: number): boolean {
  for (let at = line.indexOf(mark); at !== -1 && at < LOOK_BYTES; at = line.indexOf(mark, at + 1)) {
    if (line[at + 1] === mark && line[at + 2] === mark) return true;
  }
  return false;
}

function wordsIn(bytes: Uint8Array): string {
  return decodeKept({ head: bytes, tail: null });
}

function isProse(words: string): boolean {
  return !TOOL_NOISE.test(words) && SENTENCE.test(words);
}

/** The small words that make sentences; `Starting up…` and `Done in 3s.` have none. */
const SENTENCE = /\b(?:i|we|it|this|that|these|those|the|both|is|are|was|were|so|as|what|which|here)\b/i;
/** In the CLI's events a marker stands inside a string. */
const BLOCK_OUTSIDE = /^[ \t>*-]*---RALPH_STATUS---/im;

/** Lines that package managers, runtimes and loggers print around an answer, and blank ones. */
const TOOL_NOISE = /^\s*(?:$|(?:npm|npx|yarn|pnpm|bun|node|warn|warning|notice|info|debug|deprecat|trace)\b|\(node:|\(use |\[|\d{4}-\d\d-\d\d|[>$#]\s)/i;

/** An output without events: JSON that is foreign or was cut off keeps its format. */
function formatOfText(text: string): Format {
  const trimmed = text.trim();
  if (/^\{\s*"/.test(trimmed) && isJsonSoFar(trimmed)) return 'json';
  if (/^\[\s*\{\s*"/.test(trimmed) && isJsonSoFar(trimmed)) return 'json-array';
  const lastLine = trimmed.slice(trimmed.lastIndexOf('\n') + 1);
  return /^\{"(?:type|session_id|duration_api_ms)":/.test(lastLine) && isCutOff(lastLine) ? 'json' : 'text';
}

function isJsonSoFar(text: string): boolean {
  if (isCutOff(text)) return true;
  const value = tryParseJson(text);
  return asObject(value) !== null || asArray(value).length > 0;
}

function isCutOff(text: string): boolean {
  return createJsonWalker().walk(new TextEncoder().encode(text), 0).kind === 'open';
}
