import { QuoteType, Tokenizer } from 'htmlparser2';
import { findHtmlReferences, type Reference, type Span } from './source.ts';

/**
 * Names of the elements that GitHub renders, by the allow-list of its sanitizer; of other elements the tags are removed
 * and the content is shown.
 */
const SANITIZER = `a abbr b bdo blockquote br caption cite code dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 h7 h8 hr i img ins kbd
  li mark ol p picture pre q rp rt ruby s samp small source span strike strong sub summary sup table tbody td tfoot th thead time tr tt ul var video wbr`;

/** Names of the elements whose tags GitHub's Markdown shows as text, with everything in them. */
const shownAsText: ReadonlySet<string> = new Set([
  'iframe',
  'noembed',
  'noframes',
  'plaintext',
  'textarea',
  'title',
  'xmp',
]);

const shown: ReadonlySet<string> = new Set([...SANITIZER.split(/\s+/), ...shownAsText]);

const unplain = new RegExp(
  `<(?:/(?!(?:script|style)(?![a-z\\d-]))|(?=(?:${[...shownAsText].join('|')})(?![a-z\\d-]))[a-z])`,
  'gi',
);

interface HiddenHtml extends Span {
  readonly kind: 'html-comment' | 'html-hidden';
}

interface RawHtml {
  readonly hidden: readonly HiddenHtml[];
  /** Character references in the text between the tags of raw blocks. */
  readonly references: readonly Reference[];
  /**
   * True if the text ends within a comment, a tag or a script: text that GitHub puts below it is then hidden as well.
   */
  readonly endsOpen: boolean;
}

interface Tag extends Span {
  readonly name: string;
}

/**
 * Finds the parts of the raw HTML in a Markdown text that browsers do not show. `pieces` are the positions of the HTML;
 * after each of the raw `blocks` GitHub writes a tag of its own. An unfinished part of a piece (a comment, a quoted
 * value, a script) hides the Markdown after it as well.
 */
export function parseRawHtml(text: string, pieces: readonly Span[], blocks: readonly Span[]): RawHtml {
  const hidden: HiddenHtml[] = [];
  const references: Reference[] = [];
  const hide = (start: number, end: number, kind: HiddenHtml['kind'] = 'html-hidden'): void => {
    if (start < end) hidden.push({ kind, start, end });
  };
  /** Hides a part of a tag unless it contains only blanks, which may stay. */
  const hideWords = (start: number, end: number): void => {
    if (text.slice(start, end).trim() !== '') hide(start, end);
  };
  let tag = { start: 0, name: '', done: 0, addresses: new Set<string>() };
  let open = false;
  let attribute: Span = { start: 0, end: 0 };
  let code: Span | null = null;
  let undrawn: (Tag & { readonly depth: number }) | null = null;
  let link: Span | null = null;

  function closeTag(end: number): void {
    open = false;
    const isEnd = tag.name.startsWith('/');
    const name = tag.name.replace('/', '');
    const whole: Tag = { name, start: tag.start, end: end + 1 };
    // Hide a tag without its own `>`, which GitHub's next tag closes.
    if (!shown.has(name) || text[end] !== '>') hide(whole.start, text[end] === '>' ? whole.end : end);
    hideWords(tag.done, text[end - 1] === '/' ? end - 1 : end);
    if (isEnd) closeElement(whole);
    else openElement(whole);
  }

  function openElement(element: Tag): void {
    // Skip the content of a script or style only if the prepared HTML still treats it as one.
    if (isCode(html.slice(element.start + 1, element.start + 1 + element.name.length).toLowerCase())) code = element;
    if (element.name === 'a') link = element;
    if (undrawn === null ? isUndrawn(element.name) : undrawn.name === element.name)
      undrawn = { ...(undrawn ?? element), depth: (undrawn?.depth ?? 0) + 1 };
  }

  function closeElement(element: Tag): void {
    if (element.name === 'a' && link !== null && text.slice(link.end, element.start).trim() === '')
      hide(link.start, element.end);
    if (element.name === 'a') link = null;
    if (undrawn === null || undrawn.name !== element.name) return;
    undrawn = { ...undrawn, depth: undrawn.depth - 1 };
    if (undrawn.depth > 0) return;
    hide(undrawn.end, element.start);
    undrawn = null;
  }

  const { html, codeBlocks } = onlyHtml(text, pieces, blocks);
  const longMarkup = continuedMarkup.map((markup) => ({ ...markup, last: html.lastIndexOf(markup.terminator) }));
  let endsOpen = false;
  let markupEnd = 0;
  const hideMarkup = (start: number, end: number): void => {
    const from = html.lastIndexOf('<', start - 1);
    endsOpen ||= end >= text.length;
    if (from < markupEnd) return;
    const long = longMarkup.find(({ opening, last }) => from < last && html.startsWith(opening, from));
    markupEnd = Math.min(
      text.length,
      long === undefined
        ? // GitHub's next tag closed the markup, so the text after it is shown.
          end + (text[end] === '>' ? 1 : 0)
        : html.indexOf(long.terminator, from) + long.terminator.length,
    );
    hide(from, markupEnd, html.startsWith('<!--', from) ? 'html-comment' : 'html-hidden');
  };
  const ignore = (): void => undefined;
  const tokenizer = new Tokenizer(
    { decodeEntities: false },
    {
      ontext: (start, end) => {
        references.push(...findHtmlReferences(html, start, end));
      },
      onopentagname(start, end) {
        open = true;
        tag = { start: start - 1, name: text.slice(start, end).toLowerCase(), done: end, addresses: new Set() };
      },
      onattribname(start, end) {
        attribute = { start, end };
      },
      onattribend(quote, end) {
        const name = text.slice(attribute.start, attribute.end).toLowerCase();
        // Hide every attribute but a first address without blanks: a second one of the same name has no effect.
        if (
          quote === QuoteType.NoValue ||
          !isAddress(tag.name, name) ||
          tag.addresses.has(name) ||
          /\s/.test(text.slice(attribute.start, end)) ||
          !/\s/.test(text[attribute.start - 1] ?? '')
        )
          return;
        tag.addresses.add(name);
        hideWords(tag.done, attribute.start - 1);
        tag = { ...tag, done: end };
      },
      onopentagend: closeTag,
      onselfclosingtag: closeTag,
      onclosetag(start, end) {
        const after = html.indexOf('>', end);
        hide(code?.start ?? start - 2, after === -1 ? text.length : after + 1);
        code = null;
      },
      oncomment: hideMarkup,
      oncdata: hideMarkup,
      ondeclaration: hideMarkup,
      onprocessinginstruction: hideMarkup,
      onend: () => {
        if (open) hide(tag.start, text.length);
        const inCodeBlock = code !== null && codeBlocks.has(code.start);
        if (code !== null) hide(code.start, inCodeBlock ? text.length : code.end);
        endsOpen ||= open || inCodeBlock;
      },
      onattribdata: ignore,
      onattribentity: ignore,
      ontextentity: ignore,
    },
  );
  tokenizer.write(`${html}\n`);
  tokenizer.end();
  return { hidden, references, endsOpen };
}

/** Markup that Markdown continues beyond the first `>`, at which a browser ends it. */
const continuedMarkup = [
  { opening: '<![CDATA[', terminator: ']]>' },
  { opening: '<?', terminator: '?>' },
];

/**
 * Returns a text of the same length with blanks for everything but raw HTML, and the offsets at which blocks of script
 * and style begin.
 */
function onlyHtml(
  text: string,
  pieces: readonly Span[],
  blocks: readonly Span[],
): { readonly html: string; readonly codeBlocks: ReadonlySet<number> } {
  const parts: string[] = [];
  let done = 0;
  for (const { start, end } of pieces) {
    parts.push(' '.repeat(start - done), plainTags(text.slice(start, end)));
    done = end;
  }
  const html = `${parts.join('')}${' '.repeat(text.length - done)}`.split('');
  // Close a tag that a block left open, as GitHub's next tag does, unless a quoted value or a comment continues; `--`
  // must not become the end of that comment.
  for (const { end } of blocks) {
    if (html[end + 1] === ' ') html[end + 1] = '>';
    else if (end < html.length && !/--!?$/.test(text.slice(Math.max(0, end - 3), end))) html[end] = '>';
  }
  const codeBlocks = new Set(
    blocks
      .map(({ start }) => text.indexOf('<', start))
      .filter((start) => /^<(?:script|style)[\s>]/i.test(`${text.slice(start, start + 8)}\n`)),
  );
  return { html: plainCode(html.join(''), codeBlocks), codeBlocks };
}

/**
 * Returns the HTML with tags of script and style that have no counterpart treated like any other tag, because in prose
 * they are words about code.
 */
function plainCode(html: string, codeBlocks: ReadonlySet<number>): string {
  const lastEnds = new Map(
    [...html.matchAll(/<\/(script|style)(?=[\s/>])/gi)].map(({ 1: name = '', index }) => [name.toLowerCase(), index]),
  );
  let open: string | null = null;
  return html.replaceAll(
    /<(\/?)(script|style)(?![a-z\d-])/gi,
    (tag: string, slash: string, name: string, index: number) => {
      const element = name.toLowerCase();
      const isPlain = slash === '' ? (lastEnds.get(element) ?? -1) < index && !codeBlocks.has(index) : open === null;
      if (isPlain) return `<z${tag.slice(2)}`;
      if (slash === '') open ??= element;
      else if (open === element) open = null;
      return tag;
    },
  );
}

/**
 * Returns true if an element is `script` or `style`, which hide everything up to their end tag or to the end of the
 * text.
 */
function isCode(element: string): boolean {
  return element === 'script' || element === 'style';
}

/** Returns true if a browser does not draw the element's content; without an end tag, the content is shown. */
function isUndrawn(element: string): boolean {
  return ['audio', 'canvas', 'datalist', 'noscript', 'rp', 'template', 'video'].includes(element);
}

/**
 * Returns true if an attribute is the target of a link or the source of a picture or similar; every other attribute is
 * hidden.
 */
function isAddress(element: string, attribute: string): boolean {
  return element === 'a' ? attribute === 'href' : ['img', 'source', 'video'].includes(element) && attribute === 'src';
}

/**
 * Returns the HTML with end tags read like start tags, including attributes, as browsers do, and without elements whose
 * content is not HTML; offsets stay.
 */
function plainTags(html: string): string {
  return html.replaceAll(unplain, '<z');
}
