/** Keeps the last `limit` bytes of a stream. */
export function createTail(limit: number): { push(chunk: Uint8Array): void; bytes(): Buffer; text(): string } {
  let kept = Buffer.alloc(0);
  return {
    push: (chunk) => {
      kept = Buffer.concat([kept, chunk]);
      // A copy, so that a large chunk is not kept alive by its last bytes.
      if (kept.length > limit) kept = Buffer.from(kept.subarray(kept.length - limit));
    },
    bytes: () => kept,
    // The cut may have split a character: what is left of it is dropped.
    text: () => kept.toString('utf8').replace(/^\uFFFD+/, ''),
  };
}
