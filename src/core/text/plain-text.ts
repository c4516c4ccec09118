/** What breaks a reference without being seen. */
export const ZERO_WIDTH_SPACE = '\u200B';

/** A title where no Markdown is rendered: nothing is escaped, references are broken all the same. */
export function plainTitle(foreign: string, maxChars: number): string {
  return breakReferences(cap(flatten(foreign), maxChars));
}

/** Adds no bytes for a short text; cuts a long one at a code point and says so with `…`. */
export function cap(line: string, maxChars: number): string {
  if (line.length <= maxChars) return line;
  return `${line
    .slice(0, maxChars - 1)
    .toWellFormed()
    .replace(/\uFFFD$/, '')
    .trimEnd()}…`;
}

/** Control and format characters go (joiners of emoji stay), white space of any kind becomes one blank. */
export function flatten(foreign: string): string {
  return foreign
    .toWellFormed()
    .replace(ANSI_SEQUENCE, '')
    .replace(/(?!\u200D)\p{Cf}/gu, '')
    .replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
}

/** Colours and cursor moves of terminal programs. */
export const ANSI_SEQUENCE = /\u001B\[[0-9;?]*[A-Za-z]/g;

/**
 * The line with references made inert. GitHub looks for `@user`, `#12`, `GH-12` and addresses in the rendered text, so neither a backslash nor an entity helps;
 * an invisible character inside does.
 */
export function breakReferences(line: string): string {
  return line
    .replace(/@/g, `@${ZERO_WIDTH_SPACE}`)
    .replace(/#(?=\d)/g, `#${ZERO_WIDTH_SPACE}`)
    .replace(/gh-(?=\d)/gi, `$&${ZERO_WIDTH_SPACE}`)
    .replace(/:\/\//g, `:${ZERO_WIDTH_SPACE}//`)
    .replace(/www(?=\.)/gi, `$&${ZERO_WIDTH_SPACE}`);
}
