import { Tokenizer } from 'htmlparser2';
import type { Nodes, Root } from 'mdast';
import { type CompileContext, type Extension, fromMarkdown, type Token } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';

/** A part of a text, as offsets in UTF-16 code units; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** GitHub's Markdown as a tree, with the positions that the tree leaves out, in the order of the text. */
interface MarkdownSource {
  readonly tree: Root;
  /** Raw HTML without the line prefixes of block quotes and lists in between. */
  readonly html: readonly Span[];
  /** The text in the brackets of links and images: start → end. */
  readonly labels: ReadonlyMap<number, number>;
  /** Titles of links and images with their quotes. */
  readonly titles: readonly Span[];
  /** Addresses of link definitions, one for each definition. */
  readonly addresses: readonly Span[];
}

/** Parses Markdown as GitHub does. The text must be free of tangles. */
export function parseSource(text: string): MarkdownSource {
  const html: Span[] = [];
  const labels = new Map<number, number>();
  const titles: Span[] = [];
  const addresses: Span[] = [];
  const into = (list: Span[]) =>
    function enter(this: CompileContext, { start, end }: Token): undefined {
      list.push({ start: start.offset, end: end.offset });
    };
  const nothing = (): undefined => undefined;
  const spans: Extension = {
    enter: {
      htmlFlowData: into(html),
      htmlTextData: into(html),
      labelText: ({ start, end }: Token): undefined => {
        labels.set(start.offset, end.offset);
      },
      resourceTitle: into(titles),
      definitionDestination: into(addresses),
    },
    exit: { htmlFlowData: nothing, htmlTextData: nothing },
  };
  // Do not search for mail addresses, which hide nothing: after a bracket that stays open, the search takes quadratic
  // time.
  const tree = fromMarkdown(text, {
    extensions: [gfm(), { disable: { null: ['emailAutolink'] } }],
    mdastExtensions: [positioned, spans],
  });
  return { tree, html, labels, titles, addresses };
}

/** Names of the text constructs, without which a text is read in linear time. */
const textConstructs = [
  'attention',
  'autolink',
  'characterEscape',
  'characterReference',
  'codeText',
  'hardBreakEscape',
  'htmlText',
  'labelEnd',
  'labelStartImage',
  'labelStartLink',
  'gfmFootnoteCall',
  'gfmPotentialFootnoteCall',
  'strikethrough',
  'wwwAutolink',
  'protocolAutolink',
  'emailAutolink',
];

/** Parses only the block structure, not the text inside the blocks. */
function parseBlockTree(text: string): Root {
  return fromMarkdown(text, {
    extensions: [gfm(), { disable: { null: textConstructs } }],
    mdastExtensions: [positioned],
  });
}

/** The extensions without the search for addresses in finished text nodes, which would lose their positions. */
const positioned: Extension[] = gfmFromMarkdown().map(({ transforms: _, ...extension }) => extension);

/** A character reference such as `&#8203;`, with its character. */
export interface Reference extends Span {
  readonly character: string;
}

/** Returns the references in raw HTML between two offsets; some references need no semicolon there. */
export function findHtmlReferences(text: string, start: number, end: number): readonly Reference[] {
  return [...text.slice(start, end).matchAll(/&(?:shy;?|#\d+;?|#x[\da-f]+;?|[a-z][a-z\d]*;)/gi)].map((match) => ({
    start: start + match.index,
    end: start + match.index + match[0].length,
    character: decodeByHtml(match[0]),
  }));
}

/**
 * Returns the character of a reference in Markdown. GitHub uses numbers as they are, whereas browsers replace some of
 * them by an old Windows table.
 */
export function decodeReference(reference: string): string {
  const number = /^&#(?:x([\da-f]+)|(\d+));$/i.exec(reference);
  if (number === null) return decodeByHtml(reference);
  const codePoint = number[1] === undefined ? Number(number[2]) : Number.parseInt(number[1], 16);
  const shown = codePoint > 0 && codePoint <= 0x10_ffff && !(codePoint >= 0xd800 && codePoint <= 0xdfff);
  return shown ? String.fromCodePoint(codePoint) : '\uFFFD';
}

function decodeByHtml(reference: string): string {
  let decoded = '';
  const ignore = (): void => undefined;
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => {
        decoded += reference.slice(start, end);
      },
      ontextentity: (codePoint) => {
        decoded += String.fromCodePoint(codePoint);
      },
      onattribdata: ignore,
      onattribentity: ignore,
      onattribend: ignore,
      onattribname: ignore,
      oncdata: ignore,
      onclosetag: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onend: ignore,
      onopentagend: ignore,
      onopentagname: ignore,
      onprocessinginstruction: ignore,
      onselfclosingtag: ignore,
    },
  );
  tokenizer.write(reference);
  tokenizer.end();
  return decoded;
}

/**
 * Parts of a text that would keep the Markdown parser busy for seconds or exhaust its stack; honest text has no such
 * parts.
 */
interface Tangles {
  /** Markers of block quotes and lists that have to be removed; the text after them is fine. */
  readonly markers: readonly Span[];
  /** Blocks of text with too many brackets and similar marks. */
  readonly blocks: readonly Span[];
}

/**
 * Maximum number of block quotes, lists and footnotes that one line opens; GitHub's own parser takes at most 100 lists.
 */
const MAX_DEPTH = 32;

/**
 * Maximum number of pairs of lines that continue a quote or an item without its marker. They are read in quadratic
 * time: 2,000 such lines take half a second.
 */
const MAX_LAZY_PAIRS = 2_000 ** 2;

/**
 * Maximum product of ends and lines. Each end of a quote or list, and each underlined heading, moves all lines before
 * it: 2,000 in 2,000 lines take half a second.
 */
const MAX_END_PAIRS = 2_000 ** 2;

/**
 * Maximum number of pairs of brackets and similar marks. They are matched in quadratic time: 5,000 in one block take
 * half a second. `[plain]` ones are ignored, because the first candidate fits.
 */
const MAX_MARK_PAIRS = 5_000 ** 2;

/** Returns the tangles of a text; the blocks only if no markers have to be removed first. */
export function findTangles(text: string): Tangles {
  const markers = findTangledMarkers(text);
  return { markers, blocks: markers.length > 0 ? [] : tangledBlocks(text) };
}

/** Returns the markers that have to be removed before the blocks of a text can be read. */
export function findTangledMarkers(text: string): readonly Span[] {
  return [...deepMarkers(text), ...lazyMarkers(text), ...endingMarkers(text)];
}

const marker = String.raw`(?:[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t])|\[\^[^\]\s]+\]:))`;

function deepMarkers(text: string): readonly Span[] {
  return [...text.matchAll(new RegExp(`^${marker}{${String(MAX_DEPTH + 1)},}`, 'gm'))].map(({ 0: found, index }) => ({
    start: index,
    end: index + found.length,
  }));
}

function lazyMarkers(text: string): readonly Span[] {
  const found: Span[] = [];
  let pairs = 0;
  for (const { 0: lines, index: start } of text.matchAll(/(?:^[^\S\n]*[^\s].*\n?)+/gm)) {
    const marked = [...lines.matchAll(new RegExp(`^${marker}+`, 'gm'))];
    const own =
      marked.length === 0
        ? 0
        : (lines.split('\n').length - marked.filter((match) => match[0].length === marked[0]?.[0].length).length) ** 2;
    if (pairs + own > MAX_LAZY_PAIRS)
      found.push(
        ...marked.map(({ 0: prefix, index }) => ({ start: start + index, end: start + index + prefix.length })),
      );
    else pairs += own;
  }
  return found;
}

/** Returns all markers if too many quotes and lists end or too many headings are underlined, otherwise nothing. */
function endingMarkers(text: string): readonly Span[] {
  const lines = text.split('\n');
  if (blockEnds(lines) * lines.length <= MAX_END_PAIRS) return [];
  return [...text.matchAll(markersOrUnderline)].map(({ 0: found, index }) => ({
    start: index,
    end: index + found.length,
  }));
}

const markersOrUnderline = new RegExp(`^(?:${marker}*[ \\t]*(?:=+|-+)[ \\t]*$|${marker}+)`, 'gm');

/**
 * Returns the maximum number of quotes, lists and headings that end; the next item of a list and the next line of a
 * quote end nothing.
 */
function blockEnds(lines: readonly string[]): number {
  const leading = new RegExp(`^${marker}*`);
  let ends = 0;
  let before = '';
  let item = '';
  for (const line of lines) {
    const [found = ''] = leading.exec(line) ?? [];
    const prefix = found.replaceAll(/\d+/g, '1');
    const continuesBlock = /^[ \t]*(?:[-+*]|1[.)])$/.test(prefix)
      ? prefix === item
      : /^[ \t>]*$/.test(prefix) && prefix === before;
    if (!continuesBlock) ends += prefix.match(/[^ \t\d]/g)?.length ?? 0;
    if (/^[ \t]*(?:=+|-+)[ \t]*$/.test(line.slice(found.length))) ends += 1;
    before = prefix;
    if (line.trim() !== '') item = prefix;
  }
  return ends;
}

function tangledBlocks(text: string): readonly Span[] {
  // Cheap test first: these parts are larger than the real blocks, so few marks in them mean few marks in the blocks.
  if (
    text.split(/\n[ \t]*\n|\n(?= {0,3}[-+*] \S)/).reduce((pairs, part) => pairs + markPairs(part), 0) <= MAX_MARK_PAIRS
  )
    return [];
  let pairs = 0;
  return textBlocks(parseBlockTree(text)).filter(({ start, end }) => {
    const own = markPairs(text.slice(start, end));
    if (pairs + own > MAX_MARK_PAIRS) return true;
    pairs += own;
    return false;
  });
}

function markPairs(text: string): number {
  const left = text.replaceAll(PLAIN_BRACKETS, '');
  const open = left.indexOf('[');
  // Count each `h` or `w` that could begin an address, because the parser then searches for an open bracket.
  const addresses = open === -1 ? [] : (left.slice(open).match(/(?<![a-z])[hw]/gi) ?? []);
  return ((left.match(/[[\]*_~<]/g)?.length ?? 0) + addresses.length) ** 2;
}

/** Matches brackets such as `[ok]` that cannot be part of code, a tag, an address or an escape. */
const PLAIN_BRACKETS = /(?<!\\)\[(?:[^[\]`<>()\\*_~]|(?<=[a-z\d])_(?=[a-z\d]))*\](?!\()/gi;

function textBlocks(tree: Nodes): readonly Span[] {
  const found: Span[] = [];
  const open: Nodes[] = [tree];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const { type, position } = node;
    if (position !== undefined && (type === 'paragraph' || type === 'heading' || type === 'tableCell'))
      found.push({ start: position.start.offset ?? 0, end: position.end.offset ?? 0 });
    else if ('children' in node) open.push(...node.children);
  }
  return found;
}
