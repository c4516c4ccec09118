import type { Analysis } from './analysis.ts';
import { decodeKept } from './capped-bytes.ts';
import type { CliEvent } from './cli-event.ts';
import { asArray, asObject, tryParseJson } from './json.ts';
import { createJsonWalker } from './json-walker.ts';
import { LINE_FEED, SPACE } from './line-bytes.ts';

export type Format = Analysis['format'];

/** Watches the pieces of an output go by and says in the end what they were. */
export interface FormatWitness {
  sawEvent(event: CliEvent, from: 'line' | 'element'): void;
  /** A whole JSON object that is no event of the CLI. */
  sawObject(): void;
  /** One or more lines. */
  sawText(lines: Uint8Array): void;
  eventCount(): number;
  /** Whether the output may still turn out to be a message that quotes the events. */
  mayBeQuotation(): boolean;
  /** `text`: the output, at least for as long as it may be a quotation. */
  format(text: string): Format;
}

/** So much of a line tells noise from prose. */
const LOOK_CHARS = 256;
const MIN_PROSE_CHARS = 12;
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
    if (events === 0) announced = announces(lines, announced);
    const side = events === 0 ? 'before' : 'after';
    if (!prose[side]) prose[side] = holdsProse(lines);
  }

  function format(text: string): Format {
    if (events > 0 && mayBeQuotation() && ((prose.before && prose.after) || announced || BLOCK_OUTSIDE.test(text))) return 'text';
    if (inArray) return 'json-array';
    if (events > 1) return 'jsonl';
    if (events === 1) return onlyResults ? 'json' : 'jsonl';
    if (objects > 1 && !hasText) return 'jsonl';
    return formatOfText(text);
  }
}

/** Whether the last line announces what comes next; blank ones leave it at that. */
function announces(lines: Uint8Array, before: boolean): boolean {
  let end = lines.length;
  while (end > 0 && (lines[end - 1] ?? 0) <= SPACE) end -= 1;
  if (end === 0) return before;
  if (lines[end - 1] !== COLON) return false;
  const start = lines.lastIndexOf(LINE_FEED, end - 1) + 1;
  return holdsProse(lines.subarray(Math.max(start, end - LOOK_CHARS), end));
}

const COLON = 0x3a;

/** Whether one of the lines is a sentence, as far as its beginning tells. */
function holdsProse(lines: Uint8Array): boolean {
  return hasLongLine(lines) && PROSE.test(decodeKept({ head: lines, tail: null }));
}

/** A cheap look: tiny lines cost more to decode than to read. */
function hasLongLine(lines: Uint8Array): boolean {
  let start = 0;
  for (let at = 0; at < lines.length; at += 1) {
    if (lines[at] === LINE_FEED) start = at + 1;
    else if (at - start >= MIN_PROSE_CHARS - 1) return true;
  }
  return false;
}

/** Lines that package managers, runtimes and loggers print around an answer. */
const TOOL_NOISE = String.raw`[^\S\n]*(?:(?:npm|npx|yarn|pnpm|bun|node|warn|warning|notice|info|debug|deprecat|trace)\b|\(node:|\(use |\[|\d{4}-\d\d-\d\d|[>$#]\s)`;
/** The small words that make sentences; `Starting up…` and `Done in 3s.` have none. */
const SENTENCE = String.raw`\b(?:i|we|it|this|that|these|those|the|both|is|are|was|were|so|as|what|which|here)\b`;
const PROSE = new RegExp(String.raw`(?:^|\n)(?=[^\n]{${String(MIN_PROSE_CHARS)}})(?!${TOOL_NOISE})[^\n]{0,${String(LOOK_CHARS)}}?${SENTENCE}`, 'i');

/** In the CLI's events a marker stands inside a string. */
const BLOCK_OUTSIDE = /^[ \t>*-]*---RALPH_STATUS---/im;

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
  const bytes = new TextEncoder().encode(text);
  return createJsonWalker().walk(bytes, 0, bytes.length).kind === 'open';
}
