import { capped } from '../core/text/cut.ts';

/** Text of others as one line for a terminal: no control characters, cut at `maxChars`. */
export function plainLine(text: string, maxChars = 200): string {
  return capped(text.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim(), maxChars);
}
