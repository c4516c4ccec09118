import { canHide, findHiddenEdits, withoutMarkup, type MarkdownEdit } from '../../markdown/hidden.ts';
import {
  classifyCharacter,
  type CleanedText,
  type CleanKind,
  findUnseen,
  normalizeBlanks,
  toLineFeeds,
} from './cleaned.ts';
import { cutText } from './phrase.ts';

/**
 * Returns the number of characters that were removed because a reader would not see them. Characters beyond the maximum
 * length are not included.
 */
export function countUnseenCharacters({ kinds }: CleanedText): number {
  return Object.values(kinds).reduce((sum, count) => sum + count, 0);
}

const MAX_TEXT_CHARS = 20_000;
const MAX_TITLE_CHARS = 200;

/** Maximum number of passes. Ordinary text needs two: one cleans, and the other finds nothing more. */
const MAX_PASSES = 8;

/**
 * Cleans the body of a task to what a reader of the rendered page sees, still as Markdown, at most 20,000 characters.
 */
export function cleanText(text: string): CleanedText {
  const whole = cleanMarkdown(text);
  if (whole.text.length <= MAX_TEXT_CHARS) return whole;
  const kept = cutText(whole.text, MAX_TEXT_CHARS);
  // A cut may create a comment: a code span without its end no longer protects a comment inside of it.
  const again = cleanMarkdown(kept);
  const kinds = { ...whole.kinds };
  for (const [kind, count] of Object.entries(again.kinds) as [CleanKind, number][])
    kinds[kind] = (kinds[kind] ?? 0) + count;
  return { text: again.text, removed: whole.removed + codePoints(whole.text) - codePoints(again.text), kinds };
}

/**
 * Cleans a title, which GitHub shows as written: one line of at most 200 characters, without invisible characters and
 * comments.
 */
export function cleanTitle(title: string): CleanedText {
  const tally = createTally();
  const lines = normalizeBlanks(toLineFeeds(title));
  const seen = edited(
    lines,
    findUnseen(lines).map((span) => ({ ...span, insert: '' })),
    tally.add,
  );
  const line = withoutComments(seen, (count) => {
    tally.add('html-comment', count);
  })
    .replaceAll(/\s+/g, ' ')
    .trim();
  const kept = cutText(line, MAX_TITLE_CHARS);
  return { text: kept, removed: tally.sum() + codePoints(line) - codePoints(kept), kinds: tally.kinds };
}

/** Removes from Markdown of any length what a reader of the rendered page would not see. */
export function cleanMarkdown(markdown: string): CleanedText {
  const tally = createTally();
  // The parser's offsets begin after a byte order mark, so the mark is removed first.
  const marks = /^\uFEFF*/.exec(markdown)?.[0].length ?? 0;
  if (marks > 0) tally.add('invisible', marks);
  let text = toLineFeeds(markdown.slice(marks));
  for (let pass = 0; ; pass += 1) {
    // All edits are made at once, because without its invisible characters the text may be different Markdown that
    // shows hidden words.
    const edits = [...findUnseen(text).map((span) => ({ ...span, insert: '' })), ...hiddenIn(text, pass)];
    const after = normalizeBlanks(edited(text, edits, tally.add));
    if (after === text) return { text, removed: tally.sum(), kinds: tally.kinds };
    // The text around a removal may form new hidden text, which the next pass finds.
    text = after;
  }
}

function hiddenIn(text: string, pass: number): readonly MarkdownEdit<CleanKind>[] {
  if (!canHide(text)) return [];
  return pass < MAX_PASSES
    ? findHiddenEdits(text, classifyCharacter)
    : [withoutMarkup(text, { start: 0, end: text.length })];
}

interface Tally {
  readonly kinds: Partial<Record<CleanKind, number>>;
  readonly add: (kind: CleanKind, count?: number) => void;
  readonly sum: () => number;
}

function createTally(): Tally {
  const kinds: Partial<Record<CleanKind, number>> = {};
  return {
    kinds,
    add: (kind, count = 1) => {
      kinds[kind] = (kinds[kind] ?? 0) + count;
    },
    sum: () => Object.values(kinds).reduce((sum, count) => sum + count, 0),
  };
}

/** Applies the edits; of overlapping ones the first and longest is used. */
function edited(
  text: string,
  edits: readonly MarkdownEdit<CleanKind>[],
  onRemoved: (kind: CleanKind, count: number) => void,
): string {
  let kept = '';
  let done = 0;
  for (const { kind, start, end, insert } of [...edits].sort((a, b) => a.start - b.start || b.end - a.end)) {
    if (end <= done) continue;
    const from = Math.max(start, done);
    const put = from === start ? insert : '';
    kept += text.slice(done, from) + put;
    onRemoved(kind, codePoints(text.slice(from, end)) - codePoints(put));
    done = end;
  }
  return kept + text.slice(done);
}

/** Matches a comment as browsers end it (`-->`, `--!>`, at once, or never). */
const HTML_COMMENT = /<!--(?:-?>|[^]*?(?:--!?>|$))/g;

/** Removes comments repeatedly, because the text around one may form a new one. */
function withoutComments(text: string, onRemoved: (count: number) => void): string {
  const after = text.replaceAll(HTML_COMMENT, (comment) => {
    onRemoved(codePoints(comment));
    return '';
  });
  return after === text ? text : withoutComments(after, onRemoved);
}

function codePoints(text: string): number {
  return [...text].length;
}
