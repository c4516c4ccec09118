/** The text, at most its first `maxChars` characters, without half of one at the end. */
export function cut(text: string, maxChars: number): string {
  return text.slice(0, maxChars).replace(/\p{Surrogate}$/u, '');
}

/** At most `maxChars` characters of the text, with `…` at the end where something was cut. */
export function capped(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${cut(text, maxChars - 1)}…`;
}
