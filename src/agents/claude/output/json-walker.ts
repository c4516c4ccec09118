const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LINE_FEED = 0x0a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Where a walk over the bytes of one JSON value stands. `at` is the index behind the byte that decided. */
type Walk =
  | { readonly kind: 'open' }
  | { readonly kind: 'closed'; readonly at: number }
  | { readonly kind: 'broken'; readonly at: number };

/** Finds the end of a JSON object or array in bytes that come in pieces, by brackets and strings alone. */
export interface JsonWalker {
  /** Goes on from `from` to before `to`; the first walk starts at the opening bracket, or at blanks before it. */
  walk(bytes: Uint8Array, from: number, to: number): Walk;
}

const OPEN: Walk = { kind: 'open' };

export function createJsonWalker(): JsonWalker {
  let depth = 0;
  let inString = false;
  let escaped = false;

  return { walk };

  function walk(bytes: Uint8Array, from: number, to: number): Walk {
    for (let i = from; i < to; i += 1) {
      const byte = bytes[i];
      if (inString) {
        if (byte === LINE_FEED) return { kind: 'broken', at: i };
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
