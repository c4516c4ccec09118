import type { PhrasingContent, RootContent } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';

/** Longer texts are cut before they are parsed: inline Markdown can take time that grows with the square of its length. */
const MAX_CHARS = 500;
const MARKUP = /[*_`[\]<>&\\!~]/;
/** Keeps the text from being read as a heading, a list or code. */
const START = 'x ';
const BLANKS = /\s+/g;

/** What a reader sees of a short piece of inline Markdown, in one line: no markup, no comments, no pictures; at most 500 characters. */
export function plainInline(markdown: string): string {
  const start = markdown.replaceAll('\\\n', ' ').replaceAll(BLANKS, ' ').trim().slice(0, MAX_CHARS);
  if (!MARKUP.test(start)) return start.trim();
  const { children } = fromMarkdown(START + start);
  return withoutStrikes(children.map(textOf).join(' ').slice(START.length)).replaceAll(BLANKS, ' ').trim();
}

/** GitHub's `~~struck out~~`, which the parser leaves as it is; one tilde counts around all of the text only. */
function withoutStrikes(text: string): string {
  return text.replaceAll(/~~(?=[^\s~])([^~]*[^\s~])~~(?!~)/g, '$1').replace(/^\s*~([^~]+)~\s*$/, '$1');
}

function textOf(node: RootContent | PhrasingContent): string {
  switch (node.type) {
    case 'text':
    case 'inlineCode':
      return node.value;
    case 'break':
      return ' ';
    case 'paragraph':
    case 'emphasis':
    case 'strong':
    case 'delete':
    case 'link':
      return node.children.map(textOf).join('');
    default:
      return '';
  }
}
