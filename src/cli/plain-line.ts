import { terminalLine } from '../core/text/one-line.ts';

/** Text of others as one line for a terminal: no control characters, cut at `maxChars`. */
export function plainLine(text: string, maxChars = 200): string {
  return terminalLine(text, maxChars);
}
