import type { List, ListItem } from 'mdast';
import { parseBlocks } from './blocks.ts';
import { headingText } from './checklist.ts';

/** What stands below one heading, up to the next. Lines from 1. */
export interface OutlineSection {
  /** The headings that it stands under as a reader sees them, outermost first; empty before the first. */
  readonly headings: readonly { readonly depth: number; readonly text: string }[];
  /** Last line of its heading; 0: before the first. */
  readonly headingLine: number;
  /** Last line that has content, the heading's when nothing stands below it. */
  readonly lastLine: number;
  /** Its last checklist; null: it has none. */
  readonly checklist: OutlineChecklist | null;
}

interface OutlineChecklist {
  readonly lastLine: number;
  /** What a further item begins with: indentation, bullet or next number, and blanks. */
  readonly bullet: string;
  /** Whether blank lines stand between its items. */
  readonly loose: boolean;
  /** Whether a box is open. */
  readonly open: boolean;
}

/** The sections of a text in its order; the first has no heading and may be empty. */
export function outlineOf(text: string): readonly OutlineSection[] {
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

const BOX = /^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([^[\]\\\n])\uFE0F?\][ \t]/u;

function checklistOf(list: List, lines: readonly string[]): OutlineChecklist | null {
  const lineOf = (item: ListItem): string => lines[(item.position?.start.line ?? 0) - 1] ?? '';
  const marks = list.children.flatMap((item) => BOX.exec(lineOf(item))?.[1] ?? []);
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
