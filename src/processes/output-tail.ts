import { stripVTControlCharacters } from 'node:util';
import { toOneLine } from '../core/text/phrase.ts';

/** The last bytes of a stream; `isWhole` is false if there were more. */
interface Tail {
  push(chunk: Uint8Array): void;
  bytes(): Buffer;
  text(): string;
  isWhole(): boolean;
}

/** Creates a buffer that keeps the last `limit` bytes of a stream. */
export function createOutputTail(limit: number): Tail {
  let chunks: Buffer[] = [];
  let size = 0;
  let pushed = 0;
  const bytes = (): Buffer => {
    const whole = Buffer.concat(chunks);
    // Without a copy, the last bytes of a large chunk would keep the whole chunk in memory.
    const kept = whole.length > limit ? Buffer.from(whole.subarray(whole.length - limit)) : whole;
    [chunks, size] = [[kept], kept.length];
    return kept;
  };
  return {
    push: (chunk) => {
      chunks.push(Buffer.from(chunk));
      size += chunk.length;
      pushed += chunk.length;
      if (size > 2 * limit) bytes();
    },
    bytes,
    isWhole: () => pushed <= limit,
    // The cut may have split a character, whose rest is dropped.
    text: () =>
      bytes()
        .toString('utf8')
        .replace(/^\uFFFD+/, ''),
  };
}

/** Returns a program's output as one line of the log, cut to `maxChars`. */
export function toLogLine(text: string, maxChars: number): string {
  return toOneLine(stripVTControlCharacters(text), maxChars);
}
