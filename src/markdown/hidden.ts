import type {
  Definition,
  FootnoteDefinition,
  Image,
  ImageReference,
  Link,
  LinkReference,
  Node,
  Nodes,
  Table,
} from 'mdast';
import { type Fence, findDiagramHtml, findHidingFormulas, maskCode, findUnseenInFence } from './drawn.ts';
import { parseRawHtml } from './raw-html.ts';
import { decodeReference, findTangles, parseSource, type Span } from './source.ts';

export type HiddenKind = 'html-comment' | 'html-hidden' | 'link-title' | 'link-definition' | 'image-alt';

/** A part of the text to remove, with its replacement; all replacements together never make the text longer. */
export interface MarkdownEdit<Kind> extends Span {
  readonly kind: Kind;
  readonly insert: string;
}

/** Returns true if a text may contain Markdown or HTML that hides a part of it. */
export function canHide(text: string): boolean {
  return /[<&[|$]|```|~~~/.test(text);
}

/**
 * Returns the edits that remove the parts of a Markdown text that a reader of the page would not see. `kindOf` returns
 * how a character is hidden, or null if it is visible.
 */
export function findHiddenEdits<Kind extends string>(
  text: string,
  kindOf: (character: string) => Kind | null,
): readonly MarkdownEdit<HiddenKind | Kind>[] {
  const tangles = findTangles(text);
  if (tangles.markers.length + tangles.blocks.length > 0)
    return [
      ...tangles.markers.map((span) => cut('html-hidden', span)),
      ...tangles.blocks.map((span) => withoutMarkup(text, span)),
    ];

  const { tree, html, labels, titles, addresses } = parseSource(text);
  const nodes = collect(text, tree);
  const raw = parseRawHtml(text, html, nodes.rawBlocks);
  const drawn = maskCode(text, nodes.codeSpans);
  const unseenText = [...raw.hidden.map((span) => cut(span.kind, span)), ...hiddenInTexts(text, nodes.texts, kindOf)];
  // Ignore hidden definitions, which are already cut, and counted, as hidden text.
  const given = addresses.map((address, index) =>
    unseenText.some((span) => overlap(span, spanOf(nodes.definitions[index]))) ? null : address,
  );
  return [
    ...unseenText,
    ...raw.references.flatMap(({ character, start, end }) => unseen({ start, end }, kindOf(character))),
    ...titles.map(({ start, end }) => cut('link-title', { start: endOfWords(text, start), end })),
    ...linkEdits(text, nodes, { labels, addresses: given }),
    ...(raw.endsOpen ? nodes.footnotes.map(spanOf) : unusedFootnotes(nodes)).map((span) =>
      cut('link-definition', span),
    ),
    ...nodes.tables.flatMap(excessCells).map((span) => cut('html-hidden', span)),
    ...nodes.fences
      .flatMap((fence) => [...fenceWords(text, fence), ...findUnseenInFence(text, fence)])
      .map((span) => cut('html-hidden', span)),
    ...[...nodes.rawBlocks, ...nodes.flows]
      .flatMap((span) => [...findDiagramHtml(drawn, span), ...findHidingFormulas(drawn, span)])
      .map((span) => cut('html-hidden', span)),
  ];
}

/**
 * Returns the edit of a text that cannot be cleaned in reasonable time: it removes everything that might be Markdown or
 * HTML and keeps the words.
 */
export function withoutMarkup(text: string, { start, end }: Span): MarkdownEdit<HiddenKind> {
  return { kind: 'html-hidden', start, end, insert: text.slice(start, end).replaceAll(/[<&[\]*_~`|]/g, '') };
}

/**
 * Returns the edits of character references to invisible characters, and of comments that Markdown treats as text:
 * comments that are never closed, or that span several paragraphs.
 */
function hiddenInTexts<Kind extends string>(
  text: string,
  spans: readonly Span[],
  kindOf: (character: string) => Kind | null,
): readonly MarkdownEdit<HiddenKind | Kind>[] {
  const edits: MarkdownEdit<HiddenKind | Kind>[] = [];
  let commentEnd = 0;
  for (const { start, end } of spans) {
    for (const { 0: found, index } of text
      .slice(start, end)
      .matchAll(/\\[!-/:-@[-`{-~]|<!--|&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});/gi)) {
      const from = start + index;
      if (found.startsWith('&'))
        edits.push(...unseen({ start: from, end: from + found.length }, kindOf(decodeReference(found))));
      if (found !== '<!--' || from < commentEnd) continue;
      const [comment = found] = /<!--(?:-?>|[^]*?--!?>|[^]*)/y.exec(text.slice(from)) ?? [];
      commentEnd = from + comment.length;
      edits.push(cut('html-comment', { start: from, end: commentEnd }));
    }
  }
  return edits;
}

/**
 * Returns the edits that remove definitions. The first link by a definition takes over its address; other links become
 * their text.
 */
function linkEdits(
  text: string,
  { definitions, links, images }: HidingNodes,
  { labels, addresses }: { readonly labels: ReadonlyMap<number, number>; readonly addresses: readonly (Span | null)[] },
): readonly MarkdownEdit<HiddenKind>[] {
  const free = new Map<string, string>();
  definitions.forEach(({ identifier }, index) => {
    const address = addresses[index];
    if (!free.has(identifier)) free.set(identifier, address ? text.slice(address.start, address.end) : '');
  });
  const addressFor = (node: Link | LinkReference | Image | ImageReference): string | null => {
    if (!('identifier' in node)) return null;
    const address = free.get(node.identifier) ?? '';
    free.set(node.identifier, '');
    return address;
  };
  const edits: MarkdownEdit<HiddenKind>[] = definitions.map((node) => cut('link-definition', spanOf(node)));
  for (const node of links) {
    const { start, end } = spanOf(node);
    if (node.children.every((child) => child.type === 'html' || (child.type === 'text' && child.value.trim() === ''))) {
      edits.push(cut('html-hidden', { start, end }));
      continue;
    }
    const address = addressFor(node);
    const bracket = labels.get(start + 1);
    if (address === null || bracket === undefined) continue;
    if (address === '')
      edits.push(cut('link-definition', { start, end: start + 1 }), cut('link-definition', { start: bracket, end }));
    else edits.push({ kind: 'link-definition', start: bracket + 1, end, insert: `(${address})` });
  }
  for (const node of images) {
    const { start, end } = spanOf(node);
    const bracket = labels.get(start + 2) ?? start + 2;
    const address = addressFor(node);
    if (address === '') {
      edits.push(cut('image-alt', { start, end }));
      continue;
    }
    if (bracket > start + 2) edits.push(cut('image-alt', { start: start + 2, end: bracket }));
    if (address !== null) edits.push({ kind: 'link-definition', start: bracket + 1, end, insert: `(${address})` });
  }
  return edits;
}

/** Returns footnotes without a visible reference, and second footnotes of the same name. */
function unusedFootnotes({ footnotes, calls }: HidingNodes): readonly Span[] {
  const first = new Map<string, FootnoteDefinition>();
  for (const node of footnotes) if (!first.has(node.identifier)) first.set(node.identifier, node);
  const used = new Set<string>();
  const mark = (within: string | null): void => {
    for (const name of calls.get(within) ?? []) {
      if (used.has(name)) continue;
      used.add(name);
      mark(name);
    }
  };
  mark(null);
  return footnotes.filter((node) => !used.has(node.identifier) || first.get(node.identifier) !== node).map(spanOf);
}

/** Returns the cells beyond the columns of the header, which are not drawn. */
function excessCells({ children: [header, ...rows] }: Table): readonly Span[] {
  return rows.flatMap(({ children }) => {
    const cells = children.slice(header?.children.length ?? 0).map(spanOf);
    const [first, last] = [cells[0], cells.at(-1)];
    return first === undefined || last === undefined ? [] : [{ start: first.start, end: last.end }];
  });
}

/** Returns the text after the language of a fenced block. */
function fenceWords(text: string, { start, end }: Span): readonly Span[] {
  const [, shown = '', words = ''] = /^((?:`+|~+)[^\S\n]*\S*)([^\n]*)/.exec(text.slice(start, end)) ?? [];
  return words.trim() === '' ? [] : [{ start: start + shown.length, end: start + shown.length + words.length }];
}

interface HidingNodes {
  readonly texts: readonly Span[];
  readonly rawBlocks: readonly Span[];
  readonly definitions: readonly Definition[];
  readonly links: readonly (Link | LinkReference)[];
  readonly images: readonly (Image | ImageReference)[];
  readonly footnotes: readonly FootnoteDefinition[];
  /** Names of the footnotes that are called in the text (key null) and in each footnote. */
  readonly calls: ReadonlyMap<string | null, ReadonlySet<string>>;
  readonly tables: readonly Table[];
  readonly fences: readonly Fence[];
  /** Paragraphs, headings and cells. */
  readonly flows: readonly Span[];
  readonly codeSpans: readonly Span[];
}

/** Collects the nodes that may hide a part of the text, in its order. */
function collect(text: string, tree: Nodes): HidingNodes {
  const nodes = {
    texts: [] as Span[],
    rawBlocks: [] as Span[],
    definitions: [] as Definition[],
    links: [] as (Link | LinkReference)[],
    images: [] as (Image | ImageReference)[],
    footnotes: [] as FootnoteDefinition[],
    calls: new Map<string | null, Set<string>>(),
    tables: [] as Table[],
    fences: [] as Fence[],
    flows: [] as Span[],
    codeSpans: [] as Span[],
  };
  const open: { readonly node: Nodes; readonly parent: string; readonly footnote: string | null }[] = [
    { node: tree, parent: '', footnote: null },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, parent } = next;
    let { footnote } = next;
    switch (node.type) {
      case 'text':
        nodes.texts.push(spanOf(node));
        break;
      case 'html':
        if (['root', 'blockquote', 'listItem', 'footnoteDefinition'].includes(parent))
          nodes.rawBlocks.push(spanOf(node));
        break;
      case 'definition':
        nodes.definitions.push(node);
        break;
      case 'link':
      case 'linkReference':
        nodes.links.push(node);
        break;
      case 'image':
      case 'imageReference':
        nodes.images.push(node);
        break;
      case 'footnoteDefinition':
        nodes.footnotes.push(node);
        footnote = node.identifier;
        break;
      case 'footnoteReference':
        nodes.calls.set(footnote, (nodes.calls.get(footnote) ?? new Set()).add(node.identifier));
        break;
      case 'table':
        nodes.tables.push(node);
        break;
      case 'code':
        nodes.fences.push({ ...spanOf(node), language: node.lang ?? '' });
        break;
      case 'paragraph':
      case 'heading':
      case 'tableCell':
        nodes.flows.push(spanOf(node));
        break;
      case 'inlineCode':
        nodes.codeSpans.push(spanOf(node));
        break;
      default:
    }
    // Skip `<https://x>` and bare addresses, which are visible as they are written.
    if (node.type === 'link' && text[spanOf(node).start] !== '[') continue;
    if ('children' in node)
      for (const child of node.children.toReversed()) open.push({ node: child, parent: node.type, footnote });
  }
  return nodes;
}

/** Returns the offset at which the blanks in front of `end` begin. */
function endOfWords(text: string, end: number): number {
  let start = end;
  while (/[ \t\n]/.test(text[start - 1] ?? '')) start -= 1;
  return start;
}

function unseen<Kind>(span: Span, kind: Kind | null): readonly MarkdownEdit<Kind>[] {
  return kind === null ? [] : [cut(kind, span)];
}

function cut<const Kind>(kind: Kind, { start, end }: Span): MarkdownEdit<Kind> {
  return { kind, start, end, insert: '' };
}

function overlap(a: Span, b: Span): boolean {
  return a.start < b.end && b.start < a.end;
}

function spanOf(node: Node | undefined): Span {
  return { start: node?.position?.start.offset ?? 0, end: node?.position?.end.offset ?? 0 };
}
