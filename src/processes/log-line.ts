import { stripVTControlCharacters } from 'node:util';
import { oneLine } from '../core/text/phrase.ts';

/** Returns a program's output as one line of the log, cut to `maxChars`. */
export function logLine(text: string, maxChars: number): string {
  return oneLine(stripVTControlCharacters(text), maxChars);
}
