import type { ListItem, Nodes, Paragraph } from 'mdast';
import { parseBlocks } from './checklist.ts';
import { findTangledMarkers } from './source.ts';

/** A paragraph or heading as a person reads it. */
export interface ProseBlock {
  /** The text without emphasis, comments, code and struck-out text; a link to an issue becomes its address. */
  readonly text: string;
  /**
   * The paragraph or heading above the list whose item this block begins, or the heading directly above this block;
   * otherwise null.
   */
  readonly under: string | null;
  /** The character of the box at the beginning, or null if there is no box. */
  readonly box: string | null;
}

/** Returns the paragraphs and headings of a Markdown text in their order, without quotes and code. Never throws. */
export function parseProse(text: string): readonly ProseBlock[] {
  const blocks: ProseBlock[] = [];
  let heading: string | null = null;

  const visit = (node: Nodes): void => {
    if (node.type === 'root') node.children.forEach(visit);
    if (node.type === 'list') {
      const under = blocks.at(-1)?.text ?? null;
      for (const item of node.children) visitItem(item, under);
    }
    if (node.type !== 'heading' && node.type !== 'paragraph') return;
    blocks.push({ text: visibleText(node.children), under: heading, box: null });
    heading = node.type === 'heading' ? (blocks.at(-1)?.text ?? null) : null;
  };
  const visitItem = ({ children: [first, ...rest] }: ListItem, under: string | null): void => {
    heading = null;
    if (first?.type === 'paragraph') {
      const visible = visibleText(first.children);
      const [box = '', mark = null] = BOX.exec(visible) ?? [];
      blocks.push({ text: visible.slice(box.length), under, box: mark });
    } else if (first !== undefined) visit(first);
    rest.forEach(visit);
  };
  visit(parseBlocks(withoutMarkers(text)).root);
  return blocks;
}

/** Removes the markers of text that is so tangled that parsing would take seconds; it is then read line by line. */
function withoutMarkers(text: string): string {
  const lines = text.replaceAll(/\r\n?/g, '\n');
  return findTangledMarkers(lines)
    .toReversed()
    .reduce((rest, { start, end }) => rest.slice(0, start) + rest.slice(end), lines);
}

const BOX = /^\[([^[\]\n])\]\s+/u;

/** The character that replaces code; it does not belong to any word. */
const CODE = '\uFFFC';

function visibleText(children: Paragraph['children']): string {
  const typed = children
    .map((node) =>
      node.type === 'text' ? node.value : node.type === 'inlineCode' ? CODE : node.type === 'break' ? '\n' : '',
    )
    .join('');
  return typed
    .replaceAll(/<!--[^]*?(?:-->|$)/g, ' ')
    .replaceAll(/~~[^~]+~~/g, ' ')
    .replaceAll(
      /\[([^[\]\n]{0,300})\]\(\s*<?([^\s()<>]{0,500})>?[^()\n]{0,300}\)/g,
      (_, label: string, address: string) =>
        /^https?:\/\//.test(address) && /\/\d+\b/.test(address) ? address : label,
    )
    .replaceAll(/\*+|(?<=^|[\s([])_{1,3}(?=\S)|(?<=\S)_{1,3}(?=$|[\s)\].,;:])|[<>]/g, '');
}
