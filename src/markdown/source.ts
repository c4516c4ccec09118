import type { Root } from 'mdast';
import { fromMarkdown, type CompileContext, type Extension, type Token } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';

/** Where something stands: offsets in UTF-16 code units, `end` exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** GitHub's Markdown as a tree, with the positions that the tree leaves out, in the order of the text. */
export interface MarkdownSource {
  readonly tree: Root;
  /** Raw HTML without the line prefixes of block quotes and lists in between. */
  readonly html: readonly Span[];
  /** What stands in the brackets of links and images: start → end. */
  readonly labels: ReadonlyMap<number, number>;
  /** Titles of links and images with their quotes. */
  readonly titles: readonly Span[];
  /** Addresses of link definitions, one for each. */
  readonly addresses: readonly Span[];
}

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
  // Mail addresses hide nothing, and behind a bracket that stays open the search for them takes quadratic time.
  const tree = fromMarkdown(text, {
    extensions: [gfm(), { disable: { null: ['emailAutolink'] } }],
    mdastExtensions: [positioned, spans],
  });
  return { tree, html, labels, titles, addresses };
}

/** Text constructs, without which a text is read in linear time. */
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

/** The tree of blocks alone; their text is not looked into. */
export function parseBlockTree(text: string): Root {
  return fromMarkdown(text, {
    extensions: [gfm(), { disable: { null: textConstructs } }],
    mdastExtensions: [positioned],
  });
}

/** Without the search for addresses in finished text nodes, which would lose their positions. */
const positioned: Extension[] = gfmFromMarkdown().map(({ transforms: _, ...extension }) => extension);
