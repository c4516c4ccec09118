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
