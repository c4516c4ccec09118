/** Creates a buffer that keeps the last `limit` bytes of a stream. */
export function createTail(limit: number): { push(chunk: Uint8Array): void; bytes(): Buffer; text(): string } {
  let kept = Buffer.alloc(0);
  return {
    push: (chunk) => {
      kept = Buffer.concat([kept, chunk]);
      // Without a copy, the last bytes of a large chunk would keep the whole chunk in memory.
      if (kept.length > limit) kept = Buffer.from(kept.subarray(kept.length - limit));
    },
    bytes: () => kept,
    // The cut may have split a character, whose rest is dropped.
    text: () => kept.toString('utf8').replace(/^\uFFFD+/, ''),
  };
}
