/** How much of one line, value or text is kept: what is longer loses its middle. */
const HEAD_BYTES = 1024 * 1024;
const TAIL_BYTES = 4 * 1024 * 1024;

/** The kept bytes; `tail` is null when nothing was dropped between the two. */
export interface Kept {
  readonly head: Uint8Array;
  readonly tail: Uint8Array | null;
}

/** A growing run of bytes of which the first 1 MiB and the last 4 MiB are kept. */
export interface CappedBytes {
  append(bytes: Uint8Array): void;
  /** What was kept; a view that is valid until the next call. */
  kept(): Kept;
  clear(): void;
  /** Bytes appended since it was last cleared. */
  length(): number;
}

export function createCappedBytes(): CappedBytes {
  let head = new Uint8Array(4096);
  let ring = new Uint8Array(0);
  let total = 0;

  return { append, kept, clear: () => void (total = 0), length: () => total };

  function append(bytes: Uint8Array): void {
    const room = Math.max(0, HEAD_BYTES - total);
    if (bytes.length <= room) appendToHead(bytes);
    else if (room === 0) appendToRing(bytes);
    else {
      appendToHead(bytes.subarray(0, room));
      appendToRing(bytes.subarray(room));
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

  function kept(): Kept {
    if (total <= HEAD_BYTES) return { head: head.subarray(0, total), tail: null };
    const inRing = total - HEAD_BYTES;
    if (inRing <= TAIL_BYTES) return { head: concat(head, ring.subarray(0, inRing)), tail: null };
    const oldest = inRing % TAIL_BYTES;
    return { head, tail: concat(ring.subarray(oldest), ring.subarray(0, oldest)) };
  }
}

/** For a few bytes a loop is much faster than the call. */
function copy(from: Uint8Array, to: Uint8Array, at: number): void {
  if (from.length > 32) to.set(from, at);
  else for (let i = 0; i < from.length; i += 1) to[at + i] = from[i] ?? 0;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const SPACE = 0x20;

/** Text of what was kept. A dropped middle is cut at blanks, so that a JSON string which lost it is still well-formed. */
export function decodeKept({ head, tail }: Kept): string {
  if (tail === null) return decoder.decode(head);
  const end = head.lastIndexOf(SPACE);
  const start = tail.indexOf(SPACE);
  // Joined as bytes: of two texts there would be a third one, as long as both.
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
