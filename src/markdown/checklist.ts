import type { Heading, List, ListItem, Nodes } from 'mdast';
import { parseBlocks } from './blocks.ts';
import { plainInline } from './plain-inline.ts';

/** One box of a checklist. */
export interface ChecklistItem {
  /** Where its box stands, from 1. */
  readonly line: number;
  /** The character in the brackets. */
  readonly mark: string;
  /** Its first paragraph as a reader sees it, in one line of at most 500 characters; never empty. */
  readonly title: string;
  /** The rest of the item as Markdown, without the boxes that are nested in it; all of a first paragraph that is too long for a title. */
  readonly body: string;
  /** Index of the box that it is nested in. */
  readonly parent: number | null;
  /** The headings that it stands under as a reader sees them, outermost first. */
  readonly headings: readonly string[];
}

/** All boxes of a text, in its order: not those in quotes, code or comments, and none without a visible text. */
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
  /** The boxes right below it. */
  readonly nested: ListItem[];
}

/** What a reader sees of a heading. */
export function headingText(heading: Heading, source: string): string {
  return plainInline(sliceOf(heading, source).replaceAll(/^#+|\s#+\s*$|\n\s*[=-]+\s*$/g, ''));
}

interface Box {
  readonly line: number;
  /** Last line of its first paragraph. */
  readonly lastLine: number;
  readonly mark: string;
  readonly title: string;
  /** The first paragraph as Markdown, when it is longer than its title. */
  readonly longText: string | null;
}

/** One character in brackets and white space, at the start of a list item; GitHub's parser knows ` `, `x` and `X` only. */
const BOX = /^\[([^[\]\\\n])\uFE0F?\]\s+(?=\S)/u;

function boxOf({ children: [first] }: ListItem, source: string): Box | null {
  if (first?.type !== 'paragraph' || first.position === undefined) return null;
  const text = sliceOf(first, source);
  const [box = '', mark = ''] = BOX.exec(text) ?? [];
  if (box === '') return null;
  const title = plainInline(text.slice(box.length));
  if (title === '') return null;
  const { start, end } = first.position;
  return {
    line: start.line,
    lastLine: end.line,
    mark,
    title,
    longText: title.length > MAX_TITLE_CHARS ? text.slice(box.length) : null,
  };
}

/** The body has longer titles in full. */
const MAX_TITLE_CHARS = 200;

/** The lines after the first paragraph, but for those of nested boxes, without their common indentation. */
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
