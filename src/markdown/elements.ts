/** Elements that GitHub renders, by the allow-list of its sanitizer; of any other the tags go and the content is shown. */
const SANITIZER = `a abbr b bdo blockquote br caption cite code dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 h7 h8 hr i img ins kbd
  li mark ol p picture pre q rp rt ruby s samp small source span strike strong sub summary sup table tbody td tfoot th thead time tr tt ul var video wbr`;

/** Elements whose tags GitHub's Markdown shows as text instead, with all that is in them. */
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

/** Whether a reader sees that the element is there. */
export function isShown(element: string): boolean {
  return shown.has(element);
}

/** `script` and `style` hide all up to their end tag, or to the end of the text. */
export function isCode(element: string): boolean {
  return element === 'script' || element === 'style';
}

/** Elements in whose place a browser draws something else, or nothing; without an end tag what follows is shown. */
export function isUndrawn(element: string): boolean {
  return ['audio', 'canvas', 'datalist', 'noscript', 'rp', 'template', 'video'].includes(element);
}

/** Where a link goes and what is drawn; every other attribute is hidden. */
export function isAddress(element: string, attribute: string): boolean {
  return element === 'a' ? attribute === 'href' : ['img', 'source', 'video'].includes(element) && attribute === 'src';
}

/** The HTML with end tags read like start tags, attributes and all, as browsers do, and without elements whose content is no HTML; offsets stay. */
export function plainTags(html: string): string {
  return html.replaceAll(unplain, '<z');
}

const unplain = new RegExp(
  `<(?:/(?!(?:script|style)(?![a-z\\d-]))|(?=(?:${[...shownAsText].join('|')})(?![a-z\\d-]))[a-z])`,
  'gi',
);
