import { issueOfId, type LaneId } from '../tasks/ids.ts';
import { capped } from '../text/cut.ts';

/** A notebook of more characters than this is compacted. */
export const MAX_LEARNINGS_CHARS = 8_000;
/** What a compacted notebook has at most: as much as a prompt shows of it. */
export const KEPT_LEARNINGS_CHARS = 2_000;

/** The notebook of the queue, which everybody reads: only the queue's agent writes there, so that branches of issues never conflict in it. */
export const LEARNINGS_PATH = '.ralph/learnings.md';
/** The notebooks of issues, each written on its own branch alone. */
export const ISSUE_NOTES = '.ralph/learnings/*.md';

/** Where a lane's agent keeps its notes, and where those go that the notebook has no more room for. */
export function notebookOf(lane: LaneId): { readonly path: string; readonly archive: string } {
  return issueOfId(lane) === null
    ? { path: LEARNINGS_PATH, archive: '.ralph/learnings_archive.md' }
    : { path: `.ralph/learnings/${lane}.md`, archive: `.ralph/learnings/archive/${lane}.md` };
}

/**
 * What a prompt shows of the notes, at most `KEPT_LEARNINGS_CHARS`: the end of the lane's own, which stands last and has at least
 * half of the room, and before it the ends of the others, the most important first.
 */
export function shownNotes(own: string, others: readonly { readonly path: string; readonly text: string }[]): string {
  const wanted = others
    .filter(({ text }) => text.trim() !== '')
    .map(({ path, text }) => ({ mark: `(${path}, written on another task)\n`, text: text.trim() }));
  const needed = wanted.reduce((sum, { mark, text }) => sum + mark.length + text.length + BETWEEN.length, 0);
  const mine = endOf(own.trim(), Math.max(KEPT_LEARNINGS_CHARS / 2, KEPT_LEARNINGS_CHARS - needed));
  const shown: string[] = mine === '' ? [] : [mine];
  let room = KEPT_LEARNINGS_CHARS - mine.length;
  for (const { mark, text } of wanted) {
    const piece = endOf(text, room - mark.length - BETWEEN.length);
    if (piece.length < Math.min(text.length, MIN_NOTES_CHARS)) break;
    shown.unshift(mark + piece);
    room -= mark.length + piece.length + BETWEEN.length;
  }
  return shown.join(BETWEEN);
}

const BETWEEN = '\n\n';
/** A shorter end of somebody's notes says nothing. */
const MIN_NOTES_CHARS = 80;

function endOf(text: string, count: number): string {
  return count <= 0 ? '' : text.slice(-count).replace(/^\p{Surrogate}/u, '');
}

/** A longer first heading is an entry like any other. */
const MAX_TITLE_CHARS = 200;
const ARCHIVE_TITLE = '# Learnings, archived\n\n';

/**
 * Moves all but the newest entries of the agent's notebook to the end of its archive (empty: there is none yet), as they
 * are written and under their headings. Exact repeats are kept once, the newest. An entry that is too long by itself is
 * archived whole and kept in part. Null: the notebook is short enough. Write the archive first: what is in both for a
 * moment is not archived twice.
 */
export function compactLearnings(
  text: string,
  archive: string,
): { readonly learnings: string; readonly archive: string } | null {
  if (text.length <= MAX_LEARNINGS_CHARS) return null;
  const { title, entries } = parseLearnings(text);
  const unique = withoutRepeats(entries);
  const kept = newest(unique, KEPT_LEARNINGS_CHARS - title.length);
  const moved = unique.slice(0, unique.length - kept.length);
  const last = unique.at(-1);
  const learnings =
    kept.length > 0 || last === undefined
      ? title + render(kept)
      : `${title}${capped(last.text.trimEnd(), KEPT_LEARNINGS_CHARS - title.length - 1)}\n`;
  // The title of each part ends what the part before it may have been under.
  const part = withLineEnd(ARCHIVE_TITLE + render(moved));
  const isThere = moved.length === 0 || archive.endsWith(part);
  return {
    learnings,
    archive: isThere
      ? archive
      : [archive, part]
          .filter((text) => text !== '')
          .map(withLineEnd)
          .join('\n'),
  };
}

/** A bullet, paragraph or fence with what belongs to it, and the headings that it stands under, outermost first. */
interface Entry {
  readonly text: string;
  readonly headings: readonly Heading[];
}

interface Heading {
  readonly text: string;
  readonly level: number;
}

/** All entries in the order of the file. Title, headings and entries are together the whole text. */
function parseLearnings(text: string): { readonly title: string; readonly entries: readonly Entry[] } {
  const blocks = blocksOf(text);
  const [first = ''] = blocks;
  const title = levelOf(first) === 1 && first.length <= MAX_TITLE_CHARS ? first : '';
  const entries: Entry[] = [];
  let headings: readonly Heading[] = [];
  const rest = title === '' ? blocks : blocks.slice(1);
  for (const [index, block] of rest.entries()) {
    const level = levelOf(block);
    const next = levelOf(rest[index + 1] ?? '#');
    const outer = level === null ? headings : headings.filter((one) => one.level < level);
    // A heading that nothing follows is an entry, or it would be lost.
    if (level === null || (next !== null && next <= level)) entries.push({ text: block, headings: outer });
    headings = level === null ? outer : [...outer, { text: block, level }];
  }
  return { title, entries };
}

const HEADING = /^(?:[ \t]*\r?\n)*(#{1,6})(?:\s|$)/;
const BULLET = /^(?:[-*+]|\d{1,9}[.)])\s/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** Level of the heading that a block is; null: it is not a heading. */
function levelOf(block: string): number | null {
  return HEADING.exec(block)?.[1]?.length ?? null;
}

/** The text in pieces that are never cut: headings, bullets with what is indented below them, paragraphs, fences. */
function blocksOf(text: string): readonly string[] {
  const blocks: string[] = [];
  let open: string | null = null;
  let before = '';
  for (const line of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    const mark: string | null = FENCE.exec(line)?.[1] ?? null;
    const blank = line.trim() === '';
    const belowHeading = levelOf(blocks.at(-1) ?? '') !== null;
    const begins =
      open === null &&
      !blank &&
      (belowHeading || (!/^[ \t]/.test(line) && (before.trim() === '' || HEADING.test(line) || BULLET.test(line))));
    if (begins && blocks.at(-1)?.trim() !== '') blocks.push(line);
    else blocks.push((blocks.pop() ?? '') + line);
    if (open === null) open = mark;
    else if (mark?.startsWith(open) && line.trim() === mark) open = null;
    before = line;
  }
  return blocks;
}

/** Of entries that say the same under the same headings the last one. */
function withoutRepeats(entries: readonly Entry[]): readonly Entry[] {
  const last = new Map(entries.map((entry, index) => [nameOf(entry), index]));
  return entries.filter((entry, index) => last.get(nameOf(entry)) === index);
}

function nameOf({ text, headings }: Entry): string {
  return JSON.stringify([...headings.map((one) => one.text.trim()), text.trim()]);
}

/** As many of the last entries as there is room for, their headings counted. */
function newest(entries: readonly Entry[], room: number): readonly Entry[] {
  let from = entries.length;
  while (from > 0 && render(entries.slice(from - 1)).length <= room) from -= 1;
  return entries.slice(from);
}

/** Entries below their headings, each heading once. */
function render(entries: readonly Entry[]): string {
  const lines: string[] = [];
  let shown: readonly Heading[] = [];
  for (const { text, headings } of entries) {
    const known = headings.findIndex((one, index) => one !== shown[index]);
    lines.push(...(known === -1 ? [] : headings.slice(known)).map((one) => one.text), text);
    shown = headings;
  }
  return lines.join('');
}

function withLineEnd(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
