/** Default maximum number of names in a sentence. */
const MAX_NAMES = 10;

/** Matches colours and cursor moves of terminal programs. */
export const ANSI_SEQUENCE = /\u001B\[[0-9;?]*[A-Za-z]/g;

/** Matches bracketed words that tell CI to do nothing: `[skip ci]`, `[ci skip]`, `[no ci]`, `[skip actions]`… */
const SKIP_IN_BRACKETS = /\[([^[\]]{0,100}?(?:skip|no[\s_-]*ci\b)[^[\]]{0,100})\]/gi;

/** Matches the form that Azure Pipelines reads. */
const STARRED_NO_CI = /\*+\s*no[\s_-]?ci\s*\*+/gi;

/** Matches the name of a trailer that skips or requests checks. */
const SKIP_CHECKS = /\b(skip|request)-checks(?=\s*:)/gi;

/** Matches bracketed orders as services read them; the parentheses left by `withoutSkipWords` are excluded. */
const ORDER_IN_BRACKETS = /\[[^[\]()]{0,100}?(?:skip|no[\s_-]*ci\b)[^[\]()]{0,100}\]/i;

/** An invisible character that breaks references. */
export const ZERO_WIDTH_SPACE = '\u200B';

/** Disarms words that keep CI from running; their letters stay readable. */
export function withoutSkipWords(text: string): string {
  return text.replace(SKIP_IN_BRACKETS, '($1)').replace(STARRED_NO_CI, '(no ci)').replace(SKIP_CHECKS, '$1 checks');
}

/** Returns true if the text contains words that keep CI from running. */
export function hasSkipWords(text: string): boolean {
  return ORDER_IN_BRACKETS.test(text) || text.search(STARRED_NO_CI) !== -1 || text.search(SKIP_CHECKS) !== -1;
}

/**
 * Escapes words that keep CI from running within JSON text, so that it parses to the same data: a squash merge may copy
 * the JSON into a commit message.
 */
export function escapeSkipWords(json: string): string {
  return json
    .replace(/\[(?=[^[\]"]{0,100}?(?:skip|no[\s_-]*ci\b)[^[\]"]{0,100}\])/gi, '\\u005b')
    .replace(/\*(?=\*{0,20}\s*no[\s_-]?ci\s*\*)/gi, '\\u002a')
    .replace(/\b(skip|request)-(?=checks\s*:)/gi, '$1\\u002d');
}

/**
 * Returns a title for places without Markdown, such as a commit's subject: nothing is escaped, but references are
 * broken and words that steer CI are disarmed.
 */
export function toPlainTitle(foreign: string, maxChars: number): string {
  return breakReferences(withoutSkipWords(toOneLine(foreign, maxChars)));
}

/**
 * Makes references in a line inert. GitHub looks for `@user`, `#12`, `GH-12` and addresses in the rendered text, so
 * only an invisible character inside helps, not a backslash or an entity.
 */
export function breakReferences(line: string): string {
  return line
    .replace(/@/g, `@${ZERO_WIDTH_SPACE}`)
    .replace(/#(?=\d)/g, `#${ZERO_WIDTH_SPACE}`)
    .replace(/gh-(?=\d)/gi, `$&${ZERO_WIDTH_SPACE}`)
    .replace(/:\/\//g, `:${ZERO_WIDTH_SPACE}//`)
    .replace(/www(?=\.)/gi, `$&${ZERO_WIDTH_SPACE}`);
}

/** Returns an untrusted text as one line of at most `maxChars` characters, with `…` at the end if it was cut. */
export function toOneLine(foreign: string, maxChars: number): string {
  return capText(flattenText(foreign), maxChars);
}

/**
 * Returns a text as one line: control and format characters are removed (joiners of emoji stay), and each run of white
 * space becomes one blank.
 */
export function flattenText(foreign: string): string {
  return foreign
    .toWellFormed()
    .replace(ANSI_SEQUENCE, '')
    .replace(/(?!\u200D)\p{Cf}/gu, '')
    .replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
}

/** Returns an untrusted text as one line that cannot steer a terminal; the rest of such an attempt stays visible. */
export function toTerminalLine(foreign: string, maxChars: number): string {
  return capText(foreign.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim(), maxChars);
}

/** Returns the size of a text in bytes of UTF-8. */
export function countBytes(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Returns at most the first `maxChars` characters, without half of a surrogate pair at the end. */
export function cutText(text: string, maxChars: number): string {
  return text.slice(0, maxChars).replace(/\p{Surrogate}$/u, '');
}

/** Returns at most `maxChars` characters, with `…` at the end if the text was cut. */
export function capText(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${cutText(text, maxChars - 1).trimEnd()}…`;
}

/** Returns at most the first `maxLines` lines. */
export function cutLines(text: string, maxLines: number): string {
  let lines = 0;
  for (const { index } of text.matchAll(/\r\n?|\n/g)) {
    lines += 1;
    if (lines === maxLines) return text.slice(0, index);
  }
  return text;
}

/** Joins the first ten names for a sentence: `a, b and 3 more`. */
export function listFirstNames(names: readonly string[]): string {
  return joinNames(names, MAX_NAMES);
}

/** Joins the first `max` names for a sentence. */
export function joinNames(names: readonly string[], max: number): string {
  return joinCountedNames(names.slice(0, max), names.length);
}

/** Joins names for a sentence; `count` is the number of all names, including those that are not given. */
export function joinCountedNames(names: readonly string[], count: number): string {
  return `${names.join(', ')}${renderMore(count - names.length)}`;
}

/** Returns ` and 3 more` for the end of a list; empty if nothing is left. */
export function renderMore(left: number): string {
  return left > 0 ? ` and ${left} more` : '';
}

/** Returns at most `max` lines and a line with the number of further ones. */
export function capLines(lines: readonly string[], max: number): readonly string[] {
  return [...lines.slice(0, max), ...formatMoreLine(lines.length - max)];
}

/** Returns the line `… and 3 more` for a list that was cut; no line if nothing is left. */
export function formatMoreLine(left: number): readonly string[] {
  return left > 0 ? [`… and ${left} more`] : [];
}

/** Returns the text with its first character in upper case. */
export function capitalizeFirst(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** Completes a text to a sentence that another one can follow, by adding a full stop if needed. */
export function completeSentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === '' || /[.!?…:][)"'”’]*$/.test(trimmed) ? trimmed : `${trimmed}.`;
}

/** Quotes a text for a POSIX shell if it needs quotes. */
export function quoteShellText(value: string): string {
  return /^[\w./:=,@%+-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}

/** Formats a one-line text so that YAML reads it back unchanged. */
export function quoteYamlText(text: string): string {
  return PLAIN.test(text) && !MEANS_SOMETHING_ELSE.test(text) ? text : JSON.stringify(text);
}

const PLAIN = /^[A-Za-z][\w./-]*$/;
const MEANS_SOMETHING_ELSE = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
