/** Text of others as one line for a terminal: no control characters, cut at `maxChars`. */
export function plainLine(text: string, maxChars = 200): string {
  const line = text.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
  return line.length <= maxChars ? line : `${line.slice(0, maxChars - 1).replace(/\p{Surrogate}$/u, '')}…`;
}
