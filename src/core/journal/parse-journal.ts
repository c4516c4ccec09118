import { z } from 'zod';
import { tryJson } from '../text/try-json.ts';
import {
  type JournalEnd,
  type JournalEntry,
  type JournalEvent,
  type JournalLine,
  type JournalStart,
  parseJournalLine,
} from './journal.ts';

/** The previous hash in the first line of a journal. */
export const CHAIN_START = '0'.repeat(64);

/**
 * The result of checking that each line carries the hash of the preceding line. `last` is the hash of the last line,
 * which identifies the copy; null if there is no line.
 */
type ChainCheck =
  | { readonly kind: 'intact'; readonly last: string }
  /** An earlier version wrote the journal. */
  | { readonly kind: 'unchained'; readonly last: string | null }
  /** `line` is the first line, 1-based, that does not carry the hash of the preceding line. */
  | { readonly kind: 'broken'; readonly line: number };

const linkSchema = z.object({ prev: z.string() });

/** A run's journal. Line 1 is the start, followed by iterations and the events between them. */
export interface Journal {
  readonly start: JournalStart;
  readonly entries: readonly JournalEntry[];
  /** The other lines in order, except the end, each with the number of iterations before it. */
  readonly events: readonly { readonly after: number; readonly event: JournalEvent }[];
  /** The decision that ended the run; null if the run was killed, failed or still continues. */
  readonly end: JournalEnd | null;
  /** True if the last line is omitted because a kill cut it off. */
  readonly torn: boolean;
}

/** The result of parsing a journal: either the journal, or all problems with their 1-based lines. */
type ParsedJournal =
  | { readonly kind: 'journal'; readonly journal: Journal }
  | { readonly kind: 'unusable'; readonly problems: readonly JournalProblem[] };

interface JournalProblem {
  readonly line: number;
  readonly why: string;
}

/**
 * Parses the text of a journal; accepts any string. A last line without a line end may be cut off. A byte order mark is
 * ignored.
 */
export function parseJournal(text: string): ParsedJournal {
  const texts = text.replace(/^\uFEFF/, '').split('\n');
  const rest = texts.pop() ?? '';
  const last = rest === '' ? null : parseJournalLine(rest);
  const torn = last?.kind === 'unreadable';
  const lines = [...texts.map(parseJournalLine), ...(last === null || torn ? [] : [last])];

  const problems = lines.flatMap((line, index) => problemsOf(line, { index, lines }));
  const [first] = lines;
  if (first === undefined)
    return {
      kind: 'unusable',
      problems: [{ line: 1, why: 'a journal begins with the start of a run; this is empty or cut off' }],
    };
  if (problems.length > 0 || first.kind !== 'start') return { kind: 'unusable', problems };
  const end = lines.at(-1);
  return {
    kind: 'journal',
    journal: {
      start: first.start,
      entries: lines.flatMap((line) => (line.kind === 'iteration' ? [line.entry] : [])),
      events: lines.flatMap((line, index) =>
        isBetween(line) ? [{ after: iterationsBefore(lines, index), event: line }] : [],
      ),
      end: end?.kind === 'end' ? end : null,
      torn,
    },
  };
}

const anyLine = z.object({
  kind: z.enum(['start', 'iteration', 'check', 'proof', 'answer', 'wait', 'left-out', 'withdrawal', 'end']),
  lane: z.string(),
});

/** Returns true if any line of the text claims to belong to a journal of any version, even if the line is damaged. */
export function isAboutJournal(text: string): boolean {
  return text.split('\n').some((line) => anyLine.safeParse(tryJson(line.replace(/^\uFEFF/, ''))).success);
}

function problemsOf(
  line: JournalLine,
  { index, lines }: { readonly index: number; readonly lines: readonly JournalLine[] },
): readonly JournalProblem[] {
  const problem = (why: string): readonly JournalProblem[] => [{ line: index + 1, why }];
  const start = lines[0]?.kind === 'start' ? lines[0].start : null;
  if (line.kind === 'unreadable') return problem(line.why);
  if ((line.kind === 'start') !== (index === 0))
    return problem(
      index === 0 ? 'a journal begins with the start of a run' : 'a second start: one journal holds one run',
    );
  if (line.kind === 'start') return [];
  const { lane } = line.kind === 'iteration' ? line.entry : line;
  if (start !== null && lane !== start.lane) return problem(`it belongs to ${lane}, the journal to ${start.lane}`);
  if (line.kind === 'end') return index === lines.length - 1 ? [] : problem('the run has ended, but more lines follow');
  if (line.kind !== 'iteration') return [];
  const { iteration, taskId } = line.entry;
  // An unreadable or misplaced line counts as an iteration, because its own problem is already reported.
  const expected = index - lines.slice(0, index).filter(isBetween).length;
  if (iteration !== expected) return problem(`it is iteration ${iteration}; ${expected} was expected`);
  const found = lines.slice(1, index).flatMap((earlier) => (earlier.kind === 'iteration' ? earlier.entry.found : []));
  return start === null || [...start.tasks, ...found].some(({ id }) => id === taskId)
    ? []
    : problem(`its task ${taskId} is not among those of the start`);
}

/** Returns true if a line may stand between two iterations. */
function isBetween(line: JournalLine): line is JournalEvent {
  return !['start', 'iteration', 'end', 'unreadable'].includes(line.kind);
}

function iterationsBefore(lines: readonly JournalLine[], index: number): number {
  return lines.slice(0, index).filter(({ kind }) => kind === 'iteration').length;
}

/** Adds the SHA-256 (hex) of the bytes of the previous line to a serialized line. */
export function chainJournalLine(line: string, prev: string): string {
  return `{"prev":${JSON.stringify(prev)},${line.slice(1)}`;
}

/** Returns the lines of a journal up to and including the one with this hash; null if no line has it. */
export function selectLinesUpTo(text: string, lastHash: string, sha256: (line: string) => string): string | null {
  const lines = text.split('\n');
  const last = lines.findIndex((line) => sha256(line) === lastHash);
  return last === -1 ? null : `${lines.slice(0, last + 1).join('\n')}\n`;
}

/** Checks the hash chain of a journal's text; accepts any string. A last line that was cut off is ignored. */
export function checkChain(text: string, sha256: (line: string) => string): ChainCheck {
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  const rest = lines.pop() ?? '';
  if (tryJson(rest) !== undefined) lines.push(rest);
  const links = lines.map((line) => linkSchema.safeParse(tryJson(line)).data?.prev ?? null);
  const hashes = lines.map((line) => sha256(line));
  const last = hashes.at(-1) ?? null;
  if (last === null || links.every((link) => link === null)) return { kind: 'unchained', last };
  const broken = links.findIndex((link, index) => link !== (hashes[index - 1] ?? CHAIN_START));
  return broken === -1 ? { kind: 'intact', last } : { kind: 'broken', line: broken + 1 };
}
