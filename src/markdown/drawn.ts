import { decodeReference, type Span } from './source.ts';

/** Languages of blocks that GitHub draws instead of showing their text. */
const DRAWN: ReadonlySet<string> = new Set(['mermaid', 'geojson', 'topojson', 'stl', 'math']);

/** A pattern for the markers of block quotes in front of a line. */
const PREFIX = String.raw`[>\s]*`;

/** Patterns for the settings of a Mermaid diagram: directives and front matter. */
const MERMAID_SETTINGS: readonly RegExp[] = [
  /%%\{[^]*?(?:\}%%|$)/g,
  new RegExp(String.raw`(?=---)(?<=^[^\n]*\n${PREFIX})---[ \t]*\n[^]*?(?=---)(?<=\n${PREFIX})---[ \t]*(?=\n|$)`, 'g'),
];

/** Patterns for other text that Mermaid does not draw: comments, words for screen readers, link targets, tooltips. */
const MERMAID_UNSEEN: readonly RegExp[] = [
  ...MERMAID_SETTINGS,
  /%%[^\n]*/g,
  /<!--[^]*?(?:-->|$)/g,
  /\bacc(?:Title|Descr)[ \t]*:[^\n]*/gi,
  /\baccDescr[ \t]*\{[^}]*(?:\}|$)/gi,
  // Exclude names before an arrow, because a flow chart may have a node with one of these names.
  new RegExp(
    String.raw`(?=(?:click|links?|callback|properties|details)[ \t](?![ \t]*(?:<?--|==|-\.)))(?<=[\n;]${PREFIX})[^\n]*`,
    'gi',
  ),
  /::icon\([^)\n]*\)?/g,
  /\bmsg[ \t]*:[ \t]*"[^"]*"/g,
  /\$(?:link|tags|sprite)[ \t]*=[ \t]*"[^"]*"/g,
  // Names of several words that others replace; diagrams refer to names of one word.
  new RegExp(
    String.raw`(?=participant|actor)(?<=[\n;]${PREFIX}(?:create[ \t])?)\w+[ \t]+[^\s:;]+[ \t][^\n:;]*?(?=[ \t]as[ \t])`,
    'gi',
  ),
  new RegExp(
    String.raw`(?=subgraph)(?<=[\n;]${PREFIX})\w+[ \t]+[^\s[]+[ \t]+[^\s[][^\n[;]*(?:;[^\n[;]*){0,8}(?=\[)`,
    'gi',
  ),
  /(?:`[^`\n]+`|"[^"\n]+")(?=[ \t]*\[[ \t]*")/g,
  // Calendar settings of charts, and classes of mind maps.
  new RegExp(
    String.raw`(?=(?:dateFormat|tickInterval|includes|excludes|todayMarker|weekday|weekend)[ \t](?![ \t]*(?:<?--|==|-\.)))(?<=[\n;]${PREFIX})[^\n]*`,
    'gi',
  ),
  new RegExp(String.raw`(?=:::)(?<=\n${PREFIX}):::[^\n]*`, 'g'),
];

/** Comments of the diagrams in which `#` begins one: everywhere, or at the beginning of a line. */
const HASH_COMMENTS: readonly { readonly diagram: RegExp; readonly comment: RegExp }[] = [
  {
    diagram: new RegExp(String.raw`(?<=\n${PREFIX})(?:sequenceDiagram|gantt|journey|timeline)\b`, 'i'),
    comment: /#(?!\w{1,16};)[^\n]*/g,
  },
  {
    diagram: new RegExp(String.raw`(?<=\n${PREFIX})stateDiagram`, 'i'),
    comment: new RegExp(String.raw`(?=#)(?<=\n${PREFIX})#[^\n]*`, 'g'),
  },
];

/** Matches settings that can make all words of a diagram invisible. */
const SETTINGS_HIDE = /themeCSS|themeVariables|color|fontSize|opacity/i;

/** Matches a colour that is nearly black, like the words that Mermaid draws. */
const DARK = String.raw`(?:#[0-4]{3}\b|#[0-4][\da-f](?:[0-4][\da-f]){2}\b|black\b|rgba?\(\s*\d{1,2}\s*(?:,\s*\d{1,2}\s*){2}[,)])`;

/** Matches statements that set styles. */
const MERMAID_STYLES = new RegExp(
  String.raw`(?=(?:style|classDef|linkStyle)[ \t])(?<=(?:^|[\n;])${PREFIX})[^\n]*`,
  'gi',
);

/**
 * Patterns for styles that can make words invisible: words that are not dark, dark backgrounds, and everything but
 * lines, backgrounds and fonts.
 */
const STYLES_HIDE: readonly RegExp[] = [
  /[\s,](?!(?:fill|stroke|stroke-width|stroke-dasharray|stroke-dashoffset|stroke-linecap|rx|ry|font-weight|font-style|font-family|color)[ \t]*:)[a-z][\w-]*[ \t]*:/i,
  new RegExp(String.raw`[\s,]color[ \t]*:(?![ \t]*${DARK})`, 'i'),
  new RegExp(String.raw`[\s,]fill[ \t]*:[ \t]*(?:${DARK}|(?!rgb)\w+\()`, 'i'),
];

/** Patterns for other content that can make words of a diagram invisible: colours, and HTML that is not plain. */
const MERMAID_HIDES: readonly RegExp[] = [
  /\$\w*color\b/i,
  new RegExp(String.raw`\b(?:rect|box)[ \t]+${DARK}`, 'i'),
  /<[a-z][\w-]*\s+[^\s/<>][^<>\n]*>/i,
  /<(?:style|script|template|noscript|title|option|textarea|iframe|object|video|audio|canvas|svg|math)\b/i,
];

/** Matches the parts of a node that are not drawn, in a diagram without its quoted words. */
const NODE_EXTRAS =
  /@\{[^{}]*?(?<!\w)(?!(?:shape|label|icon|form|pos|h|w|img|constraint|animate|animation|curve|assigned|ticket|priority)\b)[a-z]\w*\s*:/i;

/**
 * Names of the TeX commands that show all of their words in place and in black. Other commands may be comments, define
 * commands, or move, shrink or colour words.
 */
const TEX_SHOWN: ReadonlySet<string> = new Set(
  `Alpha Beta Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega alpha beta gamma delta epsilon varepsilon zeta eta
  theta vartheta iota kappa varkappa lambda mu nu xi omicron pi varpi rho varrho sigma varsigma tau upsilon phi varphi chi psi
  omega digamma aleph beth gimel hbar hslash ell Re Im wp partial nabla infty emptyset varnothing forall exists nexists neg
  lnot top bot angle triangle square blacksquare Box Diamond lozenge star bigstar clubsuit diamondsuit heartsuit spadesuit
  sum prod coprod int iint iiint oint bigcup bigcap bigvee bigwedge bigoplus bigotimes bigodot biguplus bigsqcup limits
  nolimits displaylimits frac dfrac tfrac cfrac binom dbinom tbinom choose over atop sqrt root of
  pm mp times div cdot ast circ bullet oplus ominus otimes oslash odot cap cup uplus sqcap sqcup vee wedge lor land setminus
  smallsetminus wr dagger ddagger amalg leq le geq ge neq ne equiv sim simeq approx cong propto prec succ preceq succeq ll gg
  lll ggg subset supset subseteq supseteq subsetneq supsetneq nsubseteq nsupseteq sqsubset sqsupset sqsubseteq sqsupseteq in ni
  notin not mid nmid parallel nparallel perp vdash dashv models vDash Vdash asymp doteq bowtie smile frown leqslant geqslant
  lesssim gtrsim nleq ngeq triangleq coloneqq eqqcolon therefore because colon
  to gets leftarrow rightarrow leftrightarrow Leftarrow Rightarrow Leftrightarrow longleftarrow longrightarrow
  longleftrightarrow Longleftarrow Longrightarrow Longleftrightarrow mapsto longmapsto hookleftarrow hookrightarrow uparrow
  downarrow updownarrow Uparrow Downarrow nearrow searrow swarrow nwarrow iff implies impliedby leftharpoonup rightharpoonup
  rightleftharpoons xrightarrow xleftarrow leadsto rightsquigarrow
  left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr bigm Bigm langle rangle lceil rceil lfloor
  rfloor lbrace rbrace lbrack rbrack vert Vert lvert rvert lVert rVert backslash
  sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth log ln lg exp lim limsup liminf max min sup inf det dim ker
  hom deg gcd Pr arg mod bmod pmod pod operatorname
  hat widehat bar overline underline tilde widetilde vec dot ddot dddot acute grave breve check mathring overrightarrow
  overleftarrow overleftrightarrow overbrace underbrace overset underset stackrel substack sideset prime backprime boxed cancel
  text textbf textit textrm textsf texttt textnormal mbox mathrm mathbf mathit mathsf mathtt mathcal mathbb mathfrak mathscr
  boldsymbol bm pmb rm bf it sf tt cal frak scr Bbb displaystyle textstyle scriptstyle small footnotesize scriptsize normalsize
  large Large LARGE huge Huge mathop mathbin mathrel mathord mathopen mathclose mathpunct mathinner ce pu verb
  dots ldots cdots vdots ddots dotsb dotsc dotsi dotsm dotso quad qquad enspace thinspace medspace thickspace space nobreakspace
  begin end cr hline hfill nonumber notag tag degree checkmark dag ddag S P copyright circledR pounds yen maltese`.split(
    /\s+/,
  ),
);

/** Matches TeX environments that hide their content, and negative spaces that move words over others. */
const TEX_HIDES =
  /\\begin\s*\{(?!(?:equation|align|aligned|alignat|alignedat|gather|gathered|multline|split|eqnarray|array|subarray|cases|dcases|rcases|[bBpvV]?(?:small)?matrix|smallmatrix|CD)\*?\})|\\\\\*?\s*\[\s*-|(?:\\!\s*){4}/;

/**
 * Matches formulas in running text as GitHub finds them: `$$…$$`, `` $`…`$ `` and `$…$` with delimiters that touch the
 * content.
 */
const FORMULA = /\$\$[^]+?\$\$|\$`[^`]+`\$|(?<![\w$\\])\$(?=[^\s$`])[^$`]+(?<=[^\s\\])\$(?![\w$])/g;

/** A fenced block; its language is decoded. */
export interface Fence extends Span {
  readonly language: string;
}

/**
 * Returns the parts that a reader cannot see in a fenced block that GitHub draws; empty for other blocks, whose text is
 * shown.
 */
export function findUnseenInFence(text: string, { start, end, language }: Fence): readonly Span[] {
  const drawnAs = language.toLowerCase();
  const block = text.slice(start, end);
  const [opening] = /^(?:`{3,}|~{3,})[^\n]*\n?/.exec(block) ?? [];
  if (opening === undefined || !DRAWN.has(drawnAs)) return [];
  const closing = /\n[^\S\n>]*(?:>[^\S\n]*)*(?:`{3,}|~{3,})[^\S\n]*$/.exec(block)?.[0].length ?? 0;
  const body: Span = { start: start + opening.length, end: Math.max(start + opening.length, end - closing) };
  if (body.start >= body.end) return [];
  const drawn = text.slice(body.start, body.end);
  switch (drawnAs) {
    case 'mermaid':
      return hidesInDiagram(text.slice(start, body.end)) ? [body] : mermaidUnseen(text, { start, end: body.end });
    case 'math':
      return hidesInFormula(drawn) ? [body] : [];
    default:
      // Treat the whole block as unseen: maps and solids do not show any of their words.
      return [body];
  }
}

/** Returns true if some words of a diagram may be drawn invisibly; the text begins with the line before the diagram. */
function hidesInDiagram(block: string): boolean {
  const settings = MERMAID_SETTINGS.flatMap((pattern) => block.match(pattern) ?? []);
  if (settings.some((setting) => SETTINGS_HIDE.test(setting))) return true;
  const rest = MERMAID_UNSEEN.reduce((left, pattern) => left.replaceAll(pattern, ''), block);
  const styles = rest.match(MERMAID_STYLES) ?? [];
  return (
    MERMAID_HIDES.some((pattern) => pattern.test(rest)) ||
    NODE_EXTRAS.test(rest.replaceAll(/"[^"\n]*"/g, '')) ||
    styles.some((style) => STYLES_HIDE.some((pattern) => pattern.test(style)))
  );
}

function mermaidUnseen(text: string, { start, end }: Span): readonly Span[] {
  const block = text.slice(start, end);
  const comments = HASH_COMMENTS.flatMap(({ diagram, comment }) => (diagram.test(block) ? [comment] : []));
  return [...MERMAID_UNSEEN, ...comments].flatMap((pattern) =>
    [...block.matchAll(pattern)].map(({ 0: found, index }) => ({
      start: start + index,
      end: start + index + found.length,
    })),
  );
}

/** Returns a text of the same length whose code spans begin neither formulas nor elements. */
export function maskCode(text: string, codeSpans: readonly Span[]): string {
  const ends = [0, ...codeSpans.map(({ end }) => end)];
  const pieces = codeSpans.map(
    ({ start, end }, at) => text.slice(ends[at], start) + text.slice(start, end).replaceAll(/[$<]/g, ' '),
  );
  return pieces.join('') + text.slice(ends.at(-1));
}

/** Returns the formulas of running text, in which code is masked, that may hide words. */
export function findHidingFormulas(text: string, { start, end }: Span): readonly Span[] {
  return [...text.slice(start, end).matchAll(FORMULA)].flatMap(({ 0: found, index }) =>
    hidesInFormula(found) ? [{ start: start + index, end: start + index + found.length }] : [],
  );
}

/** Returns true if a formula has a comment or a command that may hide words. */
function hidesInFormula(formula: string): boolean {
  const tex = formula.replaceAll(/&[#\w]{1,32};/g, decodeReference);
  if (TEX_HIDES.test(tex)) return true;
  return [...tex.matchAll(/\\([a-z]+|[^])|%/gi)].some(
    ([found, command = '']) => found === '%' || (/^[a-z]/i.test(command) && !TEX_SHOWN.has(command)),
  );
}

/**
 * Returns raw `<pre lang="mermaid">` and similar elements, which GitHub draws like fenced blocks; code must be masked.
 */
export function findDiagramHtml(text: string, { start, end }: Span): readonly Span[] {
  const html = text.slice(start, end);
  const spans: Span[] = [];
  for (const { 0: tag, index } of html.matchAll(/<pre\b(?:"[^"]*"|'[^']*'|[^>"']+)*/gi)) {
    const at = start + index;
    if (at < (spans.at(-1)?.end ?? 0) || !namesDiagram(tag)) continue;
    const close = /<\/pre\s*>|$/i.exec(html.slice(index + tag.length));
    spans.push({ start: at, end: at + tag.length + (close === null ? 0 : close.index + close[0].length) });
  }
  return spans;
}

/** Returns true if any attribute of a tag may name a language that GitHub draws. */
function namesDiagram(tag: string): boolean {
  return [...tag.matchAll(/\blang\s*=\s*(?:"([^"]*)|'([^']*)|([^\s>"']*))/gi)].some(([, one, other, bare = '']) =>
    DRAWN.has(
      (one ?? other ?? bare)
        .replaceAll(/&[#\w]{1,32};/g, decodeReference)
        .trim()
        .toLowerCase(),
    ),
  );
}
