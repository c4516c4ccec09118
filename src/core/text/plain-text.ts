import { oneLine } from './one-line.ts';
import { withoutSkipWords } from './skip-words.ts';

/** What breaks a reference without being seen. */
export const ZERO_WIDTH_SPACE = '\u200B';

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
