import type { Kept } from './capped-bytes.ts';

export const LINE_FEED = 0x0a;

/** So far a loop is much faster than a call. */
const NEAR_BYTES = 32;

/** Index behind the line feed that ends the line at `from`; -1 when the line is not whole. */
export function behindLine(bytes: Uint8Array, from: number): number {
  const near = Math.min(from + NEAR_BYTES, bytes.length);
  for (let at = from; at < near; at += 1) if (bytes[at] === LINE_FEED) return at + 1;
  return bytes.indexOf(LINE_FEED, near) + 1 || -1;
}

const SPACE = 0x20;
const CLOSE_BRACE = 0x7d;

/** Whether a line may be a whole object: a cheap look, so that no time is spent on parsing what is cut off. */
export function endsObject({ head, tail }: Kept): boolean {
  const bytes = tail ?? head;
  let end = bytes.length - 1;
  while (end > 0 && (bytes[end] ?? 0) <= SPACE) end -= 1;
  return bytes[end] === CLOSE_BRACE;
}
