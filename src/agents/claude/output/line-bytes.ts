import { behindLine, LINE_FEED } from '../../reading/line-ends.ts';

export const CARRIAGE_RETURN = 0x0d;
export const SPACE = 0x20;
export const OPEN_BRACE = 0x7b;
export const OPEN_BRACKET = 0x5b;
export const COMMA = 0x2c;

/** Index of the first byte from `from` on that can be seen or ends the line. The bytes of a byte order mark count as blanks. */
export function firstVisible(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && isBlank(bytes[at])) at += 1;
  return at;
}

export function isBlank(byte: number | undefined): boolean {
  return (
    byte !== undefined && ((byte <= SPACE && byte !== LINE_FEED) || byte === 0xef || byte === 0xbb || byte === 0xbf)
  );
}

/** Whether an array of objects opens at `at`. */
export function opensArray(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === OPEN_BRACKET && bytes[firstInArray(bytes, at + 1)] === OPEN_BRACE;
}

/** Index of the first byte from `from` on that is neither blank nor between two elements. */
export function firstInArray(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isBlank(bytes[at]) || bytes[at] === LINE_FEED || bytes[at] === COMMA) at += 1;
  return at;
}

const ESCAPE = 0x1b;
const QUOTE = 0x22;
const EVENT_STARTS = ['{"type":', '{"duration_api_ms":'].map((start) => new TextEncoder().encode(start));

/** Whether an event of the CLI seems to begin at `at`; a cheap look. */
export function startsLikeEvent(bytes: Uint8Array, at: number): boolean {
  return (
    bytes[at] === OPEN_BRACE &&
    bytes[at + 1] === QUOTE &&
    EVENT_STARTS.some((start) => start.every((byte, index) => bytes[at + index] === byte))
  );
}

/** Where an event begins in the line from `from` to before `to`, at its start or behind what a terminal overwrites or hides; -1 when none does. */
export function eventStart(bytes: Uint8Array, from: number, to: number): number {
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

/** Index of the byte that ends a terminal's control sequence whose parameters begin at `from`. */
function endOfControl(bytes: Uint8Array, from: number): number {
  let at = from;
  while ((bytes[at] ?? 0) >= SPACE && (bytes[at] ?? 0) < 0x40) at += 1;
  return at;
}

/** Index behind the line at `from`; the last one may lack its line feed. */
export function endOfLine(bytes: Uint8Array, from: number): number {
  const behind = behindLine(bytes, from);
  return behind === -1 ? bytes.length : behind;
}
