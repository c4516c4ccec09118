import { stripVTControlCharacters } from 'node:util';

/** Text of others as one line without control characters, cut to `limit` characters. */
export function oneLine(text: string, limit: number): string {
  // Cut before it is cleaned: an event may hold megabytes.
  const start = text.slice(0, limit * 4);
  const characters = [
    ...stripVTControlCharacters(start)
      .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
      .trim(),
  ];
  const whole = characters.length <= limit && start.length === text.length;
  return whole ? characters.join('') : `${characters.slice(0, limit - 1).join('')}…`;
}
