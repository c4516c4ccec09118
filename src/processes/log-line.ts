import { stripVTControlCharacters } from 'node:util';
import { toOneLine } from '../core/text/phrase.ts';

/** Returns a program's output as one line of the log, cut to `maxChars`. */
export function toLogLine(text: string, maxChars: number): string {
  return toOneLine(stripVTControlCharacters(text), maxChars);
}
