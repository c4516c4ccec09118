import type { Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';

/** A text as it was parsed, for positions in the tree to point into, and its tree. */
export interface Blocks {
  readonly source: string;
  readonly root: Root;
}

/**
 * The block structure of a Markdown text and its code spans; emphasis, links and inline HTML stay as they are typed.
 * Any text is Markdown: never throws. Takes time in proportion to its length, but for thousands of quotes, lists and underlined headings
 * (tangles.ts), and without inline constructs, of which 60,000 stars take a minute.
 */
export function parseBlocks(text: string): Blocks {
  const source = text
    .replace(/^\uFEFF/, '')
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(deepIndent, ' '.repeat(MAX_INDENT))
    .replaceAll(DEEP_MARKERS, (markers) => markers.slice(0, MAX_INDENT));
  return { source, root: fromMarkdown(source, { extensions: [{ disable: { null: inlineConstructs } }] }) };
}

const inlineConstructs = ['attention', 'autolink', 'htmlText', 'labelEnd', 'labelStartImage', 'labelStartLink'];

/** What begins beyond this column counts as beginning there: a parser needs many seconds for lists that are hundreds deep. */
const MAX_INDENT = 80;
const deepIndent = new RegExp(`^[ \\t]{${MAX_INDENT + 1},}`, 'gm');
/** So many quotes and bullets in front of a text. */
const DEEP_MARKERS = /^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t]))){41,}/gm;
