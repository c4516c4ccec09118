import measure from 'fast-string-truncated-width';

/** The style of a piece of a line, on a terminal with colours. */
export type TextStyle = 'plain' | 'strong' | 'faint' | 'good' | 'warning' | 'bad';

/** A piece of a line; its text is clean. */
export interface Piece {
  readonly text: string;
  readonly look: TextStyle;
}

export type Line = readonly Piece[];

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

const ELLIPSIS = '…';

/** Creates a piece of a line, plain by default. */
export function createPiece(text: string, look: TextStyle = 'plain'): Piece {
  return { text: text.replace(VARIATION_SELECTORS, ''), look };
}

/** Matches characters that select a variation, because terminals disagree about its width. */
const VARIATION_SELECTORS = /[\uFE0E\uFE0F]/g;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const ONE_COLUMN_EACH = /^[ -~]*$/;

/** Returns the number of columns of a line; a wide character takes two. */
export function measureWidth(line: Line): number {
  return line.reduce((all, { text }) => all + columnsOf(text), 0);
}

function columnsOf(text: string): number {
  if (ONE_COLUMN_EACH.test(text)) return text.length;
  return [...graphemes.segment(text)].reduce((all, { segment }) => all + measure(segment).width, 0);
}

/** Returns the line cut to at most this number of columns, with `…` at the end if something was cut. */
export function fitLine(line: Line, columns: number): Line {
  if (measureWidth(line) <= columns) return line;
  const kept: Piece[] = [];
  let left = columns - 1;
  for (const part of line) {
    const width = columnsOf(part.text);
    if (width > left) return left < 0 ? [] : [...kept, { ...part, text: `${startOf(part.text, left)}${ELLIPSIS}` }];
    kept.push(part);
    left -= width;
  }
  return kept;
}

/** Returns the first characters that fit into this number of columns. */
function startOf(text: string, columns: number): string {
  let width = 0;
  for (const { segment, index } of graphemes.segment(text)) {
    width += measure(segment).width;
    if (width > columns) return text.slice(0, index);
  }
  return text;
}

/** Returns the line filled with blanks up to this number of columns. */
export function padLine(line: Line, columns: number): Line {
  const missing = columns - measureWidth(line);
  return missing > 0 ? [...line, createPiece(' '.repeat(missing))] : line;
}

/** Returns an equal line with adjacent pieces of the same look merged. */
export function mergePieces(line: Line): Line {
  const pieces: Piece[] = [];
  for (const part of line) {
    const last = pieces.at(-1);
    if (last?.look === part.look) pieces[pieces.length - 1] = { ...last, text: `${last.text}${part.text}` };
    else pieces.push(part);
  }
  return pieces;
}

/** Puts parts on as few lines as possible, with a gap between them. */
export function wrapParts(parts: readonly Line[], columns: number, gap = createPiece('  ')): readonly Line[] {
  const lines: Line[] = [];
  for (const part of parts) {
    const last = lines.at(-1);
    const joined = last === undefined ? null : [...last, gap, ...part];
    if (joined !== null && measureWidth(joined) <= columns) lines[lines.length - 1] = joined;
    else lines.push(part);
  }
  return lines.map((line) => fitLine(line, columns));
}

/** Breaks a sentence into lines between its words. */
export function wrapSentence(text: string, columns: number, look: TextStyle): readonly Line[] {
  return wrapParts(
    text.split(' ').map((word) => [createPiece(word, look)]),
    columns,
    createPiece(' ', look),
  );
}

/** Puts one part at the left edge and one at the right, or below each other if they do not fit. */
export function spreadParts(left: Line, right: Line, columns: number): readonly Line[] {
  const gap = columns - measureWidth(left) - measureWidth(right);
  if (measureWidth(right) === 0) return [fitLine(left, columns)];
  return gap >= 2
    ? [[...left, createPiece(' '.repeat(gap)), ...right]]
    : [fitLine(left, columns), fitLine(right, columns)];
}
