/** A line of Markdown with the kind of block that it belongs to. */
export interface MarkedLine {
  readonly text: string;
  readonly within: 'prose' | 'fence' | 'quote';
}

/**
 * Splits a text into lines and separates fenced code and block quotes from prose. Indented text counts as prose, and an
 * unclosed fence extends to the end.
 */
export function markLines(text: string): readonly MarkedLine[] {
  return text.split(LINE_END).map(createMarker());
}

/**
 * Like `markLines`, but for a longer text returns only the first `head` and the last `tail` characters. Between them,
 * only fences are tracked.
 */
export function markEnds(text: string, head: number, tail: number): readonly MarkedLine[] {
  if (text.length <= head + tail) return markLines(text);
  const mark = createMarker();
  const first = text.slice(0, head).split(LINE_END).map(mark);
  for (const [line] of text.slice(head, -tail).matchAll(FENCE_LINE)) mark(line);
  return [...first, ...`…\n${text.slice(-tail)}`.split(LINE_END).map(mark)];
}

const LINE_END = /\r\n?|\n/;
const FENCE_LINE = /^[^\S\r\n]*(?:(?:[-*+]|\d{1,9}[.)])[^\S\r\n]+)?(?:`{3}|~{3})[^\r\n]*$/gm;

/** Creates a function that marks the lines of a text, which must be passed in order. */
function createMarker(): (line: string) => MarkedLine {
  let fence: string | null = null;
  return (line) => {
    if (line === '' && fence === null) return EMPTY_LINE;
    if (fence !== null) {
      if (closesFence(line, fence)) fence = null;
      return { text: line, within: 'fence' };
    }
    if (/^\s*>/.test(line)) return { text: line, within: 'quote' };
    fence = findOpeningFence(line);
    return { text: line, within: fence === null ? 'prose' : 'fence' };
  };
}

/** One shared object saves memory, because a text may consist of empty lines only. */
const EMPTY_LINE: MarkedLine = { text: '', within: 'prose' };

/** Returns the backticks or tildes that open a fence in this line or list item; null if it opens none. */
export function findOpeningFence(line: string): string | null {
  const opening = /^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(`{3,}|~{3,})(.*)$/.exec(line);
  const fence = opening?.[1];
  if (fence === undefined || (fence.startsWith('`') && opening?.[2]?.includes('`'))) return null;
  return fence;
}

/** The replacement for inline code, which keeps the words around it separate. */
const CODE = '`…`';

/** Returns the lines as text, with everything but prose made empty and inline code replaced. */
export function extractProse(lines: readonly MarkedLine[], keep: 'prose' | 'prose-and-quotes'): string {
  const text = lines
    .map(({ text, within }) => (within === 'prose' || (within === 'quote' && keep === 'prose-and-quotes') ? text : ''))
    .join('\n');
  if (!text.includes('`')) return text.replace(PARAGRAPH_END, '\n\n');
  // A stray backtick must not swallow more than its own paragraph.
  return text.split(PARAGRAPH_END).map(withoutInlineCode).join('\n\n');
}

/** Returns only the code of a text, one piece per line: fenced code, and code between backticks in a line of prose. */
export function extractCode(text: string): string {
  return markLines(text)
    .flatMap(({ text: line, within }) => {
      if (within === 'fence') return [line];
      return within === 'quote' ? [] : [...line.matchAll(/(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)/g)].map(([, , code]) => code);
    })
    .join('\n');
}

const PARAGRAPH_END = /\n[ \t]*(?=\n)/g;

/** Replaces code spans, which are closed by as many backticks as opened them. */
function withoutInlineCode(paragraph: string): string {
  if (!paragraph.includes('`')) return paragraph;
  const runs: { readonly start: number; readonly length: number }[] = [];
  for (const run of paragraph.matchAll(/`+/g)) runs.push({ start: run.index, length: run[0].length });
  const lastOfLength = new Map(runs.map(({ length }, index) => [length, index]));
  let text = '';
  let end = 0;
  for (let i = 0; i < runs.length; i += 1) {
    const opening = runs[i];
    if (opening === undefined || (lastOfLength.get(opening.length) ?? 0) <= i) continue;
    do i += 1;
    while (runs[i]?.length !== opening.length);
    text += paragraph.slice(end, opening.start) + CODE;
    end = (runs[i]?.start ?? 0) + opening.length;
  }
  return text + paragraph.slice(end);
}

/** Returns true if a line closes a fence that these backticks or tildes opened. */
export function closesFence(line: string, fence: string): boolean {
  const text = line.trim();
  return text.length >= fence.length && text.startsWith(fence) && text === fence.charAt(0).repeat(text.length);
}
