/** The text, at most its first `maxChars` characters, without half of one at the end. */
export function cut(text: string, maxChars: number): string {
  return text.slice(0, maxChars).replace(/\p{Surrogate}$/u, '');
}

/** At most `maxChars` characters of the text, with `…` at the end where something was cut. */
export function capped(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${cut(text, maxChars - 1).trimEnd()}…`;
}

/** The text, at most its first `maxLines` lines. */
export function cutLines(text: string, maxLines: number): string {
  let lines = 0;
  for (const { index } of text.matchAll(/\r\n?|\n/g)) {
    lines += 1;
    if (lines === maxLines) return text.slice(0, index);
  }
  return text;
}
