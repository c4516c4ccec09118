/** At most `length` characters of `text`, with an ellipsis where something was cut. */
export function capped(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
