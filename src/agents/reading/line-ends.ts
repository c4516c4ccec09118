export const LINE_FEED = 0x0a;

/** So far a loop is much faster than a call. */
const NEAR_BYTES = 32;

/** Index behind the line feed that ends the line at `from`; -1 when the line is not whole. */
export function behindLine(bytes: Uint8Array, from: number): number {
  const near = Math.min(from + NEAR_BYTES, bytes.length);
  for (let at = from; at < near; at += 1) if (bytes[at] === LINE_FEED) return at + 1;
  return bytes.indexOf(LINE_FEED, near) + 1 || -1;
}
