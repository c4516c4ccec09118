/** A sentence names at most so many, unless it has a number of its own. */
const MAX_NAMES = 10;

/** Colours and cursor moves of terminal programs. */
export const ANSI_SEQUENCE = /\u001B\[[0-9;?]*[A-Za-z]/g;

/** Brackets around words that tell a CI system to do nothing: `[skip ci]`, `[ci skip]`, `[no ci]`, `[skip actions]`, and whatever else is to be skipped. */
const SKIP_IN_BRACKETS = /\[([^[\]]{0,100}?(?:skip|no[\s_-]*ci\b)[^[\]]{0,100})\]/gi;

/** As Azure Pipelines reads it. */
const STARRED_NO_CI = /\*+\s*no[\s_-]?ci\s*\*+/gi;

/** A trailer by its name alone. */
const SKIP_CHECKS = /\b(skip|request)-checks(?=\s*:)/gi;

/** As services read it; what `withoutSkipWords` has left in inner brackets is no order. */
const ORDER_IN_BRACKETS = /\[[^[\]()]{0,100}?(?:skip|no[\s_-]*ci\b)[^[\]()]{0,100}\]/i;

/** What breaks a reference without being seen. */
export const ZERO_WIDTH_SPACE = '\u200B';

/** The text without words that keep CI from running: their letters stay, what makes them an order goes. */
export function withoutSkipWords(text: string): string {
  return text.replace(SKIP_IN_BRACKETS, '($1)').replace(STARRED_NO_CI, '(no ci)').replace(SKIP_CHECKS, '$1 checks');
}

/** Whether words in the text keep CI from running. */
export function hasSkipWords(text: string): boolean {
  return ORDER_IN_BRACKETS.test(text) || text.search(STARRED_NO_CI) !== -1 || text.search(SKIP_CHECKS) !== -1;
}

/** JSON text in which no string keeps CI from running as it stands, and which is parsed to the same data: a squash merge may copy it into a commit message. */
export function escapeSkipWords(json: string): string {
  return json
    .replace(/\[(?=[^[\]"]{0,100}?(?:skip|no[\s_-]*ci\b)[^[\]"]{0,100}\])/gi, '\\u005b')
    .replace(/\*(?=\*{0,20}\s*no[\s_-]?ci\s*\*)/gi, '\\u002a')
    .replace(/\b(skip|request)-(?=checks\s*:)/gi, '$1\\u002d');
}

/** A title where no Markdown is rendered: nothing is escaped, references are broken all the same, and no word in it steers CI: it may become a commit's subject. */
export function plainTitle(foreign: string, maxChars: number): string {
  return breakReferences(withoutSkipWords(oneLine(foreign, maxChars)));
}

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

/** Foreign text as one line of at most `maxChars` characters, with `…` at the end where something was cut. */
export function oneLine(foreign: string, maxChars: number): string {
  return capped(flatten(foreign), maxChars);
}

/** The whole text in one line: control and format characters go (joiners of emoji stay), white space of any kind becomes one blank. */
export function flatten(foreign: string): string {
  return foreign
    .toWellFormed()
    .replace(ANSI_SEQUENCE, '')
    .replace(/(?!\u200D)\p{Cf}/gu, '')
    .replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
}

/** Foreign text as one line for a terminal: nothing in it steers one, and what is left of such an attempt stays to be seen. */
export function terminalLine(foreign: string, maxChars: number): string {
  return capped(foreign.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim(), maxChars);
}

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

/** Names for a sentence, the first ten of them: `a, b and 3 more`. */
export function namesOf(names: readonly string[]): string {
  return firstNames(names, MAX_NAMES);
}

/** Names for a sentence, the first `max` of them. */
export function firstNames(names: readonly string[], max: number): string {
  return namesOutOf(names.slice(0, max), names.length);
}

/** Names that are some of `count`, for a sentence. */
export function namesOutOf(names: readonly string[], count: number): string {
  return `${names.join(', ')}${andMore(count - names.length)}`;
}

/** ` and 3 more` at the end of a list; empty when that was all. */
export function andMore(left: number): string {
  return left > 0 ? ` and ${left} more` : '';
}

/** At most `max` lines, and one that says how many more there are. */
export function firstLines(lines: readonly string[], max: number): readonly string[] {
  return [...lines.slice(0, max), ...moreLine(lines.length - max)];
}

/** The line `… and 3 more` below a list that was cut; none when that was all. */
export function moreLine(left: number): readonly string[] {
  return left > 0 ? [`… and ${left} more`] : [];
}

/** A text of any source as a sentence that another one can follow: it ends in a mark that ends a sentence. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === '' || /[.!?…:][)"'”’]*$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
