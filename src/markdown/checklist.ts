import type { Heading, List, ListItem, Nodes, PhrasingContent, Root, RootContent } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';

/** A parsed text, to which the positions in the tree refer, and its tree. */
interface Blocks {
  readonly source: string;
  readonly root: Root;
}

const inlineConstructs = ['attention', 'autolink', 'htmlText', 'labelEnd', 'labelStartImage', 'labelStartLink'];

/**
 * Maximum indentation. Deeper lines are parsed as if indented this far, because a parser needs many seconds for lists
 * that are hundreds of levels deep.
 */
const MAX_INDENT = 80;

const deepIndent = new RegExp(`^[ \\t]{${MAX_INDENT + 1},}`, 'gm');

/** Matches more than 40 quotes and bullets in front of a text. */
const DEEP_MARKERS = /^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t]))){41,}/gm;

/**
 * Maximum number of characters of inline Markdown that are parsed, because the time can grow with the square of the
 * length.
 */
const MAX_CHARS = 500;

const MARKUP = /[*_`[\]<>&\\!~]/;

/** A prefix that keeps the text from being read as a heading, a list or code. */
const START = 'x ';

const BLANKS = /\s+/g;

export interface ChecklistItem {
  /** The line of the box; the first line is 1. */
  readonly line: number;
  /** The character in the brackets. */
  readonly mark: string;
  /** The first paragraph of the item as a reader sees it, in one line of at most 500 characters; never empty. */
  readonly title: string;
  /**
   * The rest of the item as Markdown, without the boxes that are nested in it; contains the whole first paragraph if
   * that is too long for a title.
   */
  readonly body: string;
  /** Index of the box that contains this one, or null. */
  readonly parent: number | null;
  /** The headings above the box as a reader sees them, outermost first. */
  readonly headings: readonly string[];
}

/**
 * Returns all boxes of a text in their order, except for those in quotes, code or comments and those without visible
 * text.
 */
export function parseChecklist(text: string): readonly ChecklistItem[] {
  const { source, root } = parseBlocks(text);
  const lines = source.split('\n');
  const found: Found[] = [];
  let headings: readonly { readonly depth: number; readonly text: string }[] = [];

  const visit = (list: List, parent: Found | null): void => {
    for (const item of list.children) {
      const box = boxOf(item, source);
      const here =
        box === null
          ? parent
          : {
              ...box,
              item,
              index: found.length,
              parent: parent?.index ?? null,
              headings: headings.map((heading) => heading.text),
              nested: [],
            };
      if (box !== null && here !== null) {
        found.push(here);
        parent?.nested.push(item);
      }
      for (const child of item.children) if (child.type === 'list') visit(child, here);
    }
  };
  for (const node of root.children) {
    if (node.type === 'heading')
      headings = [
        ...headings.filter(({ depth }) => depth < node.depth),
        { depth: node.depth, text: headingText(node, source) },
      ];
    if (node.type === 'list') visit(node, null);
  }
  return found.map(({ line, mark, title, parent, headings: above, ...box }) => ({
    line,
    mark,
    title,
    body: bodyOf(box, lines),
    parent,
    headings: above,
  }));
}

interface Found extends Box {
  readonly item: ListItem;
  readonly index: number;
  readonly parent: number | null;
  readonly headings: readonly string[];
  /** The boxes directly below this one. */
  readonly nested: ListItem[];
}

/** Returns the visible text of a heading. */
function headingText(heading: Heading, source: string): string {
  return plainInline(sliceOf(heading, source).replaceAll(/^#+|\s#+\s*$|\n\s*[=-]+\s*$/g, ''));
}

interface Box {
  readonly line: number;
  /** Last line of the item's first paragraph. */
  readonly lastLine: number;
  readonly mark: string;
  readonly title: string;
  /** The first paragraph as Markdown if it is too long for a title, otherwise null. */
  readonly longText: string | null;
}

/**
 * Matches one character in brackets and white space at the start of a list item; GitHub's parser accepts only ` `, `x`
 * and `X`. A ticked box may be struck out with its text.
 */
const BOX = /^(?:\[([^[\]\\\n])\uFE0F?\]|(~~)\[([xX])\](?=[^~]*~~))\s+(?=\S)/u;

function boxOf({ children: [first] }: ListItem, source: string): Box | null {
  if (first?.type !== 'paragraph' || first.position === undefined) return null;
  const text = sliceOf(first, source);
  const [box = '', plain, strike = '', struck = ''] = BOX.exec(text) ?? [];
  if (box === '') return null;
  const words = strike + text.slice(box.length);
  const title = plainInline(words);
  if (title === '') return null;
  const { start, end } = first.position;
  return {
    line: start.line,
    lastLine: end.line,
    mark: plain ?? struck,
    title,
    longText: title.length > MAX_TITLE_CHARS ? words : null,
  };
}

/** Maximum length of a title; the body contains a longer one in full. */
const MAX_TITLE_CHARS = 200;

/** Returns the lines after the first paragraph, without those of nested boxes and without their common indentation. */
function bodyOf(
  { item, lastLine, longText, nested }: Pick<Found, 'item' | 'lastLine' | 'longText' | 'nested'>,
  lines: readonly string[],
): string {
  const ofBoxes = new Set(nested.flatMap(linesOf));
  const rest = lines.slice(lastLine, item.position?.end.line).filter((_, index) => !ofBoxes.has(lastLine + index + 1));
  const indents = rest.filter((line) => line.trim() !== '').map((line) => line.search(/\S/));
  const body = rest
    .map((line) => line.slice(Math.min(...indents)).trimEnd())
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .replace(/^\n+|\n+$/g, '');
  return [longText, body].filter(Boolean).join('\n\n');
}

function linesOf({ position }: ListItem): readonly number[] {
  const { start, end } = position ?? { start: { line: 1 }, end: { line: 0 } };
  return Array.from({ length: end.line - start.line + 1 }, (_, index) => start.line + index);
}

function sliceOf({ position }: Nodes, source: string): string {
  return source.slice(position?.start.offset ?? 0, position?.end.offset ?? 0);
}

/**
 * Returns the visible text of a short piece of inline Markdown, without markup, comments and pictures, in one line of
 * at most 500 characters.
 */
function plainInline(markdown: string): string {
  const start = markdown.replaceAll('\\\n', ' ').replaceAll(BLANKS, ' ').trim().slice(0, MAX_CHARS);
  if (!MARKUP.test(start)) return start.trim();
  const { children } = fromMarkdown(START + start);
  return withoutStrikes(children.map(visibleTextOf).join(' ').slice(START.length)).replaceAll(BLANKS, ' ').trim();
}

/**
 * Removes the markup of GitHub's `~~struck out~~`, which the parser leaves as it is; single tildes are removed only
 * around the whole text.
 */
function withoutStrikes(text: string): string {
  return text.replaceAll(/~~(?=[^\s~])([^~]*[^\s~])~~(?!~)/g, '$1').replace(/^\s*~([^~]+)~\s*$/, '$1');
}

function visibleTextOf(node: RootContent | PhrasingContent): string {
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
      return node.children.map(visibleTextOf).join('');
    default:
      return '';
  }
}

/**
 * Parses the block structure of a Markdown text and its code spans; emphasis, links and inline HTML stay as they are
 * typed. Never throws, because any text is Markdown. Takes time in proportion to the length, except for thousands of
 * quotes, lists and underlined headings (see `findTangles`). Inline constructs are not parsed, because 60,000 stars
 * would take a minute.
 */
export function parseBlocks(text: string): Blocks {
  const source = text
    .replace(/^\uFEFF/, '')
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(deepIndent, ' '.repeat(MAX_INDENT))
    .replaceAll(DEEP_MARKERS, (markers) => markers.slice(0, MAX_INDENT));
  return { source, root: fromMarkdown(source, { extensions: [{ disable: { null: inlineConstructs } }] }) };
}

/** The content below one heading, up to the next heading. The first line is 1. */
export interface OutlineSection {
  /** The section's headings as a reader sees them, outermost first; empty before the first heading. */
  readonly headings: readonly { readonly depth: number; readonly text: string }[];
  /** Last line of the section's heading; 0 before the first heading. */
  readonly headingLine: number;
  /** Last line that has content; the heading's last line if the section is empty. */
  readonly lastLine: number;
  /** The section's last checklist, or null if there is no checklist. */
  readonly checklist: OutlineChecklist | null;
}

interface OutlineChecklist {
  readonly lastLine: number;
  /** The beginning of the next item to add: indentation, bullet or next number, and a blank. */
  readonly bullet: string;
  /** True if blank lines separate the items. */
  readonly loose: boolean;
  readonly open: boolean;
}

/** Returns the sections of a text in their order; the first section has no heading and may be empty. */
export function splitIntoSections(text: string): readonly OutlineSection[] {
  const { source, root } = parseBlocks(text);
  const lines = source.split('\n');
  const sections: OutlineSection[] = [];
  let section: OutlineSection = { headings: [], headingLine: 0, lastLine: 0, checklist: null };
  for (const node of root.children) {
    const end = node.position?.end.line ?? 0;
    if (node.type === 'heading') {
      sections.push(section);
      section = {
        headings: [
          ...section.headings.filter(({ depth }) => depth < node.depth),
          { depth: node.depth, text: headingText(node, source) },
        ],
        headingLine: end,
        lastLine: end,
        checklist: null,
      };
    } else {
      section = {
        ...section,
        lastLine: end,
        checklist: (node.type === 'list' ? checklistOf(node, lines) : null) ?? section.checklist,
      };
    }
  }
  return [...sections, section];
}

const ITEM_BOX = /^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([^[\]\\\n])\uFE0F?\][ \t]/u;

function checklistOf(list: List, lines: readonly string[]): OutlineChecklist | null {
  const lineOf = (item: ListItem): string => lines[(item.position?.start.line ?? 0) - 1] ?? '';
  const marks = list.children.flatMap((item) => ITEM_BOX.exec(lineOf(item))?.[1] ?? []);
  const last = list.children.at(-1);
  if (marks.length === 0 || last === undefined) return null;
  const [, indent = '', bullet = '-', number = null, dot = ''] =
    /^([ \t]*)([-*+]|(\d+)([.)]))/.exec(lineOf(last)) ?? [];
  const next = number === null ? bullet : `${String(Number(number) + 1)}${dot}`;
  return {
    lastLine: list.position?.end.line ?? 0,
    bullet: `${indent}${next} `,
    loose: list.spread === true,
    open: marks.some((mark) => !/x/i.test(mark)),
  };
}
