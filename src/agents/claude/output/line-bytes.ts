import { findLineEnd, decodeKept, LINE_FEED } from '../../reading/capped-bytes.ts';

const BACKSLASH = 0x5c;

const NEW_LINE = 0x0a;

const CLOSE_BRACE = 0x7d;

const CLOSE_BRACKET = 0x5d;

/**
 * State of a walk over the bytes of one JSON value. `at` is the index after the byte that closed or broke the value.
 */
type Walk =
  | { readonly kind: 'open' }
  | { readonly kind: 'closed'; readonly at: number }
  | { readonly kind: 'broken'; readonly at: number };

/** Finds the end of a JSON object or array in bytes that arrive in pieces, by brackets and strings alone. */
interface JsonWalker {
  /** Walks from `from` up to `to`, exclusive. The first walk starts at the opening bracket or at blanks before it. */
  walk(bytes: Uint8Array, from: number, to: number): Walk;
}

const OPEN: Walk = { kind: 'open' };

export const CARRIAGE_RETURN = 0x0d;

const SPACE = 0x20;

export const OPEN_BRACE = 0x7b;

export const OPEN_BRACKET = 0x5b;

export const COMMA = 0x2c;

/**
 * Returns the index of the first byte from `from` on that is visible or ends the line. The bytes of a byte order mark
 * are treated as blanks.
 */
export function findFirstVisible(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && isBlank(bytes[at])) at += 1;
  return at;
}

/** Returns true for a control character or blank other than a line feed, and for a byte of a byte order mark. */
export function isBlank(byte: number | undefined): boolean {
  return (
    byte !== undefined && ((byte <= SPACE && byte !== LINE_FEED) || byte === 0xef || byte === 0xbb || byte === 0xbf)
  );
}

/** Returns true if an array of objects opens at `at`. */
export function opensArray(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === OPEN_BRACKET && bytes[findFirstInArray(bytes, at + 1)] === OPEN_BRACE;
}

/** Returns the index of the first byte from `from` on that is neither blank nor between two elements. */
export function findFirstInArray(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isBlank(bytes[at]) || bytes[at] === LINE_FEED || bytes[at] === COMMA) at += 1;
  return at;
}

const ESCAPE = 0x1b;

const QUOTE = 0x22;

const EVENT_STARTS = ['{"type":', '{"duration_api_ms":'].map((start) => new TextEncoder().encode(start));

/** Returns true if an event of the CLI seems to begin at `at`, by a cheap look. */
export function startsLikeEvent(bytes: Uint8Array, at: number): boolean {
  return (
    bytes[at] === OPEN_BRACE &&
    bytes[at + 1] === QUOTE &&
    EVENT_STARTS.some((start) => start.every((byte, index) => bytes[at + index] === byte))
  );
}

/**
 * Returns the index at which an event begins in the line between `from` and `to` (exclusive): at the line's start or
 * after text that a terminal overwrites or hides; -1 if no event begins there.
 */
export function findEventStart(bytes: Uint8Array, from: number, to: number): number {
  let isFresh = true;
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at];
    if (byte === CARRIAGE_RETURN) isFresh = true;
    else if (byte === ESCAPE && bytes[at + 1] === OPEN_BRACKET) at = endOfControl(bytes, at + 2);
    else if (isFresh && !isBlank(byte)) {
      if (startsLikeEvent(bytes, at)) return at;
      isFresh = false;
    }
  }
  return -1;
}

/** Returns the index of the byte that ends a terminal's control sequence whose parameters begin at `from`. */
function endOfControl(bytes: Uint8Array, from: number): number {
  let at = from;
  while ((bytes[at] ?? 0) >= SPACE && (bytes[at] ?? 0) < 0x40) at += 1;
  return at;
}

/** Returns the index after the line at `from`; the last one may lack its line feed. */
export function endOfLine(bytes: Uint8Array, from: number): number {
  const behind = findLineEnd(bytes, from);
  return behind === -1 ? bytes.length : behind;
}

/** Number of characters of a line that suffice to distinguish noise from prose. */
const LOOK_CHARS = 256;

const MIN_PROSE_CHARS = 12;

/**
 * Returns true if the last line that is not blank introduces the next one, for example with a colon. If all lines are
 * blank, the answer `before` stays.
 */
export function introducesNextLine(lines: Uint8Array, before: boolean): boolean {
  let end = lines.length;
  while (end > 0 && (lines[end - 1] ?? 0) <= SPACE) end -= 1;
  if (end === 0) return before;
  if (lines[end - 1] !== COLON) return false;
  const start = lines.lastIndexOf(LINE_FEED, end - 1) + 1;
  const line = lines.subarray(Math.max(start, end - LOOK_CHARS), end);
  return hasProse(line) && !LOG.test(decodeKept({ head: line, tail: null }));
}

const COLON = 0x3a;

/** Returns true if one of the lines is a sentence, judged by its beginning. */
export function hasProse(lines: Uint8Array): boolean {
  return hasLongLine(lines) && PROSE.test(decodeKept({ head: lines, tail: null }));
}

/** Returns true if there is a long line, by a cheap look: tiny lines cost more to decode than to read. */
function hasLongLine(lines: Uint8Array): boolean {
  let start = 0;
  for (let at = 0; at < lines.length; at += 1) {
    if (lines[at] === LINE_FEED) start = at + 1;
    else if (at - start >= MIN_PROSE_CHARS - 1 && lines[at] !== CARRIAGE_RETURN) return true;
  }
  return false;
}

/** Lines that package managers, runtimes and loggers print around an answer. */
const TOOL_NOISE = String.raw`[^\S\n]*(?:(?:npm|npx|yarn|pnpm|bun|node|warn|warning|notice|info|debug|deprecat\w*|trace)\b|\(node:|\(use |\[|\d{4}-\d\d-\d\d|[>$#]\s)`;

/** Small words that indicate a sentence; `Starting up…` and `Done in 3s.` have none. */
const SENTENCE = String.raw`\b(?:i|we|it|this|that|these|those|the|both|is|are|was|were|so|as|what|which|here)\b`;

const PROSE = new RegExp(
  String.raw`(?:^|\n)(?=[^\r\n]{${String(MIN_PROSE_CHARS)}})(?!${TOOL_NOISE})[^\n]{0,${String(LOOK_CHARS)}}?${SENTENCE}`,
  'i',
);

/**
 * Words of a log line: `Using the settings of this container:` is the output of a tool, but `Running it prints this:`
 * is the observation of a person.
 */
const LOG =
  /^\s*[A-Z][a-z]+ing\b(?!.*\b(?:i|we|it|is|are|was|were|what|here|(?:print|output|show|return|give|say|report|write)\w*|gave|wrote|said)\b)/i;

/** Creates a walker that has not read any byte yet. */
export function createJsonWalker(): JsonWalker {
  let depth = 0;
  let inString = false;
  let escaped = false;

  return { walk };

  function walk(bytes: Uint8Array, from: number, to: number): Walk {
    for (let i = from; i < to; i += 1) {
      const byte = bytes[i];
      if (inString) {
        if (byte === NEW_LINE) return { kind: 'broken', at: i };
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inString = false;
      } else if (byte === QUOTE) {
        inString = true;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        depth += 1;
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        depth -= 1;
        if (depth <= 0) return { kind: 'closed', at: i + 1 };
      }
    }
    return OPEN;
  }
}
