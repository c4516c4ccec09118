export const LINE_FEED = 0x0a;
export const CARRIAGE_RETURN = 0x0d;
export const SPACE = 0x20;
export const OPEN_BRACE = 0x7b;
export const OPEN_BRACKET = 0x5b;

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

/** So far a loop is much faster than a call. */
const NEAR_BYTES = 32;

/** Index of the next line feed from `from` on; -1 when there is none. */
function nextLineFeed(bytes: Uint8Array, from: number): number {
  const near = Math.min(from + NEAR_BYTES, bytes.length);
  for (let at = from; at < near; at += 1) if (bytes[at] === LINE_FEED) return at;
  return bytes.indexOf(LINE_FEED, near);
}

/**
 * Index behind the line whose first visible byte is at `first`; -1 when it is not whole, or where an array may open that holds objects.
 * A bracket that opens none takes the line that decides so with it.
 */
export function endOfLine(bytes: Uint8Array, first: number, mayOpenArray: boolean): number {
  let at = first;
  if (mayOpenArray && bytes[first] === OPEN_BRACKET) {
    do at += 1;
    while (isBlank(bytes[at]) || bytes[at] === LINE_FEED);
    if (bytes[at] === OPEN_BRACE) return -1;
  }
  const lineFeed = nextLineFeed(bytes, at);
  return lineFeed === -1 ? -1 : lineFeed + 1;
}
