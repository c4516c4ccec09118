import { type Element, isTag, isText, type Text, type ChildNode, type ParentNode } from 'domhandler';
import { parseDocument } from 'htmlparser2';
import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';

/**
 * The context of a Markdown text. `lineBreaks`: line breaks in a paragraph are kept, as in issues and comments, unlike
 * in files.
 */
export interface Place {
  readonly lineBreaks: boolean;
  readonly repositoryUrl: string;
  /** Numbers of existing issues and pull requests; other numbers do not become links. */
  readonly numbers: ReadonlySet<number>;
}

/**
 * Renders Markdown as HTML like GitHub: GFM, sanitised, with alerts, mentions and references. Emoji codes and diagrams
 * stay text.
 */
export function githubHtml(markdown: string, place: Place): string {
  const html = micromark(markdown, { allowDangerousHtml: true, extensions: [gfm()], htmlExtensions: [gfmHtml()] });
  // Markdown's own line breaks are followed by a newline, those written as `<br>` are not.
  const document = parseDocument(html.replaceAll('<br />\n', '<br>'));
  return childrenOf(document, place);
}

/** The elements that GitHub's sanitiser keeps; of other elements only the content stays. */
const ELEMENTS = new Set(
  `h1 h2 h3 h4 h5 h6 br b i strong em a pre code img tt div ins del sup sub p picture ol ul table thead tbody tfoot
  blockquote dl dt dd kbd q samp var hr ruby rt rp li tr td th s strike summary details caption figure figcaption
  abbr bdo cite dfn mark small span time wbr`.split(/\s+/),
);
const WITHOUT_CONTENT = new Set(['script', 'style', 'noscript', 'iframe', 'template', 'title', 'textarea', 'xmp']);
const VOID = new Set(['br', 'hr', 'img', 'wbr', 'input']);
const ATTRIBUTES = new Set(
  'align alt cite colspan dir height href lang open rowspan src start title type valign width'.split(' '),
);

function childrenOf(parent: ParentNode, place: Place): string {
  return parent.children.map((child) => htmlOf(child, place)).join('');
}

function htmlOf(node: ChildNode, place: Place): string {
  if (isText(node)) return textOf(node, place);
  if (!isTag(node) || WITHOUT_CONTENT.has(node.name)) return '';
  if (node.name === 'input') return checkbox(node);
  const alert = node.name === 'blockquote' ? alertOf(node, place) : null;
  if (alert !== null) return alert;
  const content = childrenOf(node, place);
  if (!ELEMENTS.has(node.name)) return content;
  const attributes = Object.entries(node.attribs).filter(([name, value]) => isHarmless(name, value));
  const opening = [node.name, ...attributes.map(([name, value]) => `${name}="${escape(value)}"`), ...listClass(node)];
  return `<${opening.join(' ')}>${VOID.has(node.name) ? '' : `${content}</${node.name}>`}`;
}

function isHarmless(name: string, value: string): boolean {
  if (!ATTRIBUTES.has(name)) return false;
  return !['href', 'src', 'cite'].includes(name) || /^(?:https?:|mailto:|[^:]*$)/i.test(value);
}

/** The only input that GitHub's sanitiser keeps is the checkbox of a task list. */
function checkbox({ attribs }: Element): string {
  if (attribs.type !== 'checkbox') return '';
  return `<input type="checkbox" class="task-list-item-checkbox" disabled${'checked' in attribs ? ' checked' : ''}>`;
}

function listClass({ name, children }: Element): readonly string[] {
  const isBox = (node: ChildNode | undefined): boolean =>
    node !== undefined && isTag(node) && (node.name === 'input' || (node.name === 'p' && isBox(node.children[0])));
  if (name === 'li' && children.some(isBox)) return ['class="task-list-item"'];
  const hasBoxes = children.some((child) => isTag(child) && child.children.some(isBox));
  return (name === 'ul' || name === 'ol') && hasBoxes ? ['class="contains-task-list"'] : [];
}

/** Returns a quote as an alert if its first line is `[!NOTE]` or a similar marker, or null. */
function alertOf(quote: Element, place: Place): string | null {
  const first = quote.children.find(isTag);
  const word = first?.name === 'p' ? first.children[0] : undefined;
  if (first === undefined || word === undefined || !isText(word)) return null;
  const found = /^\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\](?:\n|$)/.exec(word.data);
  if (found === null) return null;
  const kind = found[1]?.toLowerCase() ?? '';
  word.data = word.data.slice(found[0].length);
  const title = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
  return `<div class="markdown-alert markdown-alert-${kind}"><p class="markdown-alert-title">${title}</p>${childrenOf(quote, place)}</div>`;
}

function textOf(node: Text, place: Place): string {
  const around = ancestorsOf(node);
  if (around.includes('pre')) return escape(node.data);
  const broken = (html: string): string =>
    place.lineBreaks && around.some((name) => PARAGRAPHS.has(name)) && node.data.trim() !== ''
      ? html.replace(/\n(?=.)/g, '<br>\n')
      : html;
  if (around.includes('a')) return broken(shortened(node, place));
  return broken(around.includes('code') ? escape(node.data) : linked(escape(node.data), place));
}

const PARAGRAPHS = new Set(['p', 'li']);

function ancestorsOf(node: ChildNode): readonly string[] {
  const parent: ParentNode | null = node.parent;
  return parent !== null && isTag(parent) ? [parent.name, ...ancestorsOf(parent)] : [];
}

/** Returns the number for the bare address of an issue of the repository. */
function shortened({ data, parent }: Text, { repositoryUrl }: Place): string {
  const isBare = parent !== null && isTag(parent) && parent.attribs.href === data;
  const number = data.startsWith(`${repositoryUrl}/`)
    ? /^(?:issues|pull)\/(\d+)$/.exec(data.slice(repositoryUrl.length + 1))
    : null;
  return isBare && number?.[1] !== undefined ? `#${number[1]}` : escape(data);
}

/** Renders mentions and references in a text as links. */
function linked(html: string, { repositoryUrl, numbers }: Place): string {
  return html
    .replace(
      /(^|[^\w/&;@])@([a-z\d](?:[a-z\d-]{0,37}[a-z\d])?)(?![\w/])/gi,
      (_all, before: string, login: string) =>
        `${before}<a class="user-mention" href="https://github.com/${login}">@${login}</a>`,
    )
    .replace(/(^|[^\w&/])#(\d+)(?!\w)/g, (all: string, before: string, number: string) =>
      numbers.has(Number(number)) ? `${before}<a href="${repositoryUrl}/issues/${number}">#${number}</a>` : all,
    );
}

/** Escapes text for HTML, including attributes. */
export function escape(text: string): string {
  return text.replace(/[&<>"]/g, (mark) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[mark] ?? mark);
}
