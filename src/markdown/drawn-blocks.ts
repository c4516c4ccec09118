import type { Span } from './source.ts';

/** Languages of fenced blocks that GitHub draws instead of showing their text. */
const DRAWN = /^(?:mermaid|geojson|topojson|stl|math)$/i;

/** Line prefixes of block quotes in front of a line. */
const PREFIX = String.raw`[>\s]*`;

/** What Mermaid reads and does not draw: comments, directives, front matter, descriptions for screen readers, click targets with their tooltips. */
const MERMAID_UNSEEN: readonly RegExp[] = [
  /%%\{[^]*?(?:\}%%|$)/g,
  /%%[^\n]*/g,
  new RegExp(String.raw`(?<=^[^\n]*\n${PREFIX})---[ \t]*\n[^]*?\n${PREFIX}---[ \t]*(?=\n|$)`, 'g'),
  /\bacc(?:Title|Descr)[ \t]*:[^\n]*/gi,
  /\baccDescr[ \t]*\{[^}]*(?:\}|$)/gi,
  new RegExp(String.raw`(?<=\n${PREFIX})(?:click|link|links|callback)[ \t][^\n]*`, 'gi'),
];
/** Styles by which words of a diagram may not be seen. */
const MERMAID_HIDES =
  /\b(?:color|fill-opacity|opacity|font-size|visibility|display)[ \t]*:[ \t]*(?:white|#f{3}(?:f{3})?\b|transparent|none|hidden|rgba?\(|hsla?\(|0|[01](?:\.\d+)?(?:px|pt|em|rem|%)?\b)/i;

/** What TeX reads and does not show, or may paint in the colour of the page. */
const TEX_HIDES =
  /(?<!\\)%|\\(?:h|v)?phantom\b|\\(?:text|page|f)?color(?:box)?\b|\\(?:label|tag|href|url|cssId|class|style|unicode|require|def|edef|gdef|let|newcommand|renewcommand|newenvironment|tiny|scriptscriptstyle|rlap|llap|clap|mathrlap|mathllap|mathclap|smash|kern|mkern|hskip|mskip|hspace|raise|lower|moveleft|moveright|rule|begingroup|hidewidth|omit|iffalse|bbox|enclose|data|toggle|mathtip|texttip)\b/;

/** Returns what a reader does not see of a fenced block that GitHub draws; nothing of other blocks, whose text is shown. */
export function unseenInFence(text: string, { start, end }: Span): readonly Span[] {
  const block = text.slice(start, end);
  const [opening = '', , language = ''] = /^(`{3,}|~{3,})[^\S\n]*([^\s`]*)[^\n]*\n?/.exec(block) ?? [];
  if (!DRAWN.test(language)) return [];
  const closing = /\n[^\S\n>]*(?:>[^\S\n]*)*(?:`{3,}|~{3,})[^\S\n]*$/.exec(block)?.[0].length ?? 0;
  const body: Span = { start: start + opening.length, end: Math.max(start + opening.length, end - closing) };
  if (body.start >= body.end) return [];
  const drawn = text.slice(body.start, body.end);
  switch (language.toLowerCase()) {
    case 'mermaid':
      return MERMAID_HIDES.test(drawn) ? [body] : mermaidUnseen(text, { start, end: body.end });
    case 'math':
      return TEX_HIDES.test(drawn) ? [body] : [];
    default:
      // A map and a solid show none of their words.
      return [body];
  }
}

function mermaidUnseen(text: string, { start, end }: Span): readonly Span[] {
  const block = text.slice(start, end);
  return MERMAID_UNSEEN.flatMap((pattern) =>
    [...block.matchAll(pattern)].map(({ 0: found, index }) => ({
      start: start + index,
      end: start + index + found.length,
    })),
  );
}

/** Formulas in running text, as GitHub finds them: `$$…$$`, `` $`…`$ `` and `$…$` that touch their content. */
const FORMULA =
  /\$\$[^]{1,4000}?\$\$|\$`[^`]{1,4000}`\$|(?<![\w$\\])\$(?=[^\s$`])[^$\n`]{1,2000}(?<=[^\s\\])\$(?![\w$])/g;

/** Returns the formulas of running text that may hide something; `isCode` says whether an offset is within a code span. */
export function hidingFormulas(
  text: string,
  { start, end }: Span,
  isCode: (offset: number) => boolean,
): readonly Span[] {
  const piece = text.slice(start, end);
  if (!piece.includes('$')) return [];
  return [...piece.matchAll(FORMULA)].flatMap(({ 0: found, index }) => {
    const from = start + index;
    const isFormula = found.startsWith('$`') || !isCode(from);
    return isFormula && TEX_HIDES.test(found) ? [{ start: from, end: from + found.length }] : [];
  });
}

/** Returns raw `<pre lang="mermaid">` and its kin: GitHub draws them like fenced blocks. */
export function drawnHtml(text: string, { start, end }: Span): readonly Span[] {
  return [
    ...text
      .slice(start, end)
      .matchAll(/<pre\b[^>]*\blang\s*=\s*["']?(?:mermaid|geojson|topojson|stl|math)\b[^]*?(?:<\/pre\s*>|$)/gi),
  ].map(({ 0: found, index }) => ({ start: start + index, end: start + index + found.length }));
}
