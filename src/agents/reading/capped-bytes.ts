/**
 * An instant (ms), or a function that returns it; relative times in an error are counted from the time of the error.
 */
export type InstantSource = number | (() => number);

/** Maximum number of tool calls that are kept until their denial is reported. */
const MAX_PENDING_CALLS = 256;

/** The newest tool calls by their id. */
interface PendingCalls<Call> {
  add(id: string, call: Call): void;
  of(id: string | null): Call | null;
}

/** Number of bytes kept from the beginning of a line, value or text: a longer one loses its middle. */
const HEAD_BYTES = 1024 * 1024;

const TAIL_BYTES = 4 * 1024 * 1024;

/** The kept bytes; `tail` is null if nothing was dropped between the two. */
export interface KeptBytes {
  readonly head: Uint8Array;
  readonly tail: Uint8Array | null;
}

/** A growing run of bytes of which the first 1 MiB and the last 4 MiB are kept. */
export interface CappedBytes {
  append(bytes: Uint8Array): void;
  /** Returns the kept bytes as a view that is valid until the next call. */
  kept(): KeptBytes;
  clear(): void;
  /** Returns the number of bytes appended since the last clearing. */
  length(): number;
}

/** Creates an empty run of bytes. */
export function createCappedBytes(): CappedBytes {
  let head = new Uint8Array(4096);
  let ring = new Uint8Array(0);
  let total = 0;

  return { append, kept, clear: () => void (total = 0), length: () => total };

  function append(bytes: Uint8Array): void {
    const spare = Math.max(0, HEAD_BYTES - total);
    if (bytes.length <= spare) appendToHead(bytes);
    else if (spare === 0) appendToRing(bytes);
    else {
      appendToHead(bytes.subarray(0, spare));
      appendToRing(bytes.subarray(spare));
    }
    total += bytes.length;
  }

  function appendToHead(bytes: Uint8Array): void {
    const needed = total + bytes.length;
    if (needed > head.length) {
      const grown = new Uint8Array(Math.min(HEAD_BYTES, Math.max(needed, head.length * 2)));
      grown.set(head.subarray(0, total));
      head = grown;
    }
    copy(bytes, head, total);
  }

  function appendToRing(bytes: Uint8Array): void {
    if (ring.length === 0) ring = new Uint8Array(TAIL_BYTES);
    const skipped = Math.max(0, bytes.length - TAIL_BYTES);
    const start = (Math.max(total, HEAD_BYTES) - HEAD_BYTES + skipped) % TAIL_BYTES;
    const kept = skipped === 0 ? bytes : bytes.subarray(skipped);
    const untilWrap = TAIL_BYTES - start;
    if (kept.length <= untilWrap) return copy(kept, ring, start);
    ring.set(kept.subarray(0, untilWrap), start);
    ring.set(kept.subarray(untilWrap), 0);
  }

  function kept(): KeptBytes {
    if (total <= HEAD_BYTES) return { head: head.subarray(0, total), tail: null };
    const inRing = total - HEAD_BYTES;
    if (inRing <= TAIL_BYTES) return { head: concat(head, ring.subarray(0, inRing)), tail: null };
    const oldest = inRing % TAIL_BYTES;
    return { head, tail: concat(ring.subarray(oldest), ring.subarray(0, oldest)) };
  }
}

/** Copies bytes in a loop, which is much faster for a few of them. */
function copy(from: Uint8Array, to: Uint8Array, at: number): void {
  if (from.length > 32) to.set(from, at);
  else for (let i = 0; i < from.length; i += 1) to[at + i] = from[i] ?? 0;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

const SPACE = 0x20;

/**
 * Returns the text of the kept bytes. A dropped middle is cut at blanks, so that a JSON string that lost it is still
 * well-formed.
 */
export function decodeKept({ head, tail }: KeptBytes): string {
  if (tail === null) return decoder.decode(head);
  const end = head.lastIndexOf(SPACE);
  const start = tail.indexOf(SPACE);
  // Join the bytes before decoding: joining two texts would make a third one of their total length.
  return decoder.decode(concat(head.subarray(0, end === -1 ? head.length : end), ELLIPSIS, tail.subarray(start + 1)));
}

const ELLIPSIS = new TextEncoder().encode(' … ');

function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let length = 0;
  for (const part of parts) {
    joined.set(part, length);
    length += part.length;
  }
  return joined;
}

export const LINE_FEED = 0x0a;

/** Distance in bytes up to which a loop is much faster than a call. */
const NEAR_BYTES = 32;

/** Returns the index after the line feed that ends the line at `from`; -1 if the line is incomplete. */
export function findLineEnd(bytes: Uint8Array, from: number): number {
  const near = Math.min(from + NEAR_BYTES, bytes.length);
  for (let at = from; at < near; at += 1) if (bytes[at] === LINE_FEED) return at + 1;
  return bytes.indexOf(LINE_FEED, near) + 1 || -1;
}

const CLOSE_BRACE = 0x7d;

/** Returns true if a line may be a whole object, by a cheap look that saves parsing a truncated one. */
export function endsObject({ head, tail }: KeptBytes): boolean {
  const bytes = tail ?? head;
  let end = bytes.length - 1;
  while (end > 0 && (bytes[end] ?? 0) <= SPACE) end -= 1;
  return bytes[end] === CLOSE_BRACE;
}

/** Creates an empty list of tool calls, which forgets the oldest ones. */
export function createPendingCalls<Call>(): PendingCalls<Call> {
  const calls = new Map<string, Call>();
  return { add, of: (id) => calls.get(id ?? '') ?? null };

  function add(id: string, call: Call): void {
    calls.set(id, call);
    const [oldest] = calls.keys();
    if (calls.size > MAX_PENDING_CALLS && oldest !== undefined) calls.delete(oldest);
  }
}

/** Returns the instant that a clock shows. */
export function readClock(clock: InstantSource): number {
  return typeof clock === 'number' ? clock : clock();
}
