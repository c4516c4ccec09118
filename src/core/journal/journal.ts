import { z } from 'zod';
import { analysisSchema, type Analysis } from '../analysis/analysis.ts';
import type { Evidence } from '../evidence.ts';
import { evidenceSchema, outcomeSchema, policySchema, taskSchema, verdictSchema } from './journal-schema.ts';
import type { Outcome } from '../outcome.ts';
import type { Policy } from '../policy.ts';
import { type LaneState, parseState, serializeState } from '../lane/state.ts';
import type { QueuedTask } from '../tasks/task.ts';
import { tryJson } from '../text/try-json.ts';
import type { LaneId, TaskId } from '../tasks/ids.ts';

/** First line of a run's journal: what the decisions of the run started from. */
export interface JournalStart {
  readonly version: 1;
  readonly lane: LaneId;
  readonly startedAt: number;
  readonly policy: Policy;
  readonly tasks: readonly QueuedTask[];
  readonly state: LaneState;
}

/** One line per iteration: with the start, enough to make its decisions again. Agent text in it is redacted and capped before it gets here. */
export interface JournalEntry {
  readonly version: 1;
  readonly lane: LaneId;
  /** 1-based within the run. */
  readonly iteration: number;
  readonly taskId: TaskId;
  readonly taskTitle: string;
  /** Instant at which the iteration was decided on and charged. */
  readonly startedAt: number;
  /** Content that the task's own work was measured against when it was started in this iteration. */
  readonly taskTree: string;
  /** When the CLI did not know the session, so that the call was made once more without; null: it was not so. */
  readonly sessionDroppedAt: number | null;
  readonly endedAt: number;
  readonly analysis: Analysis;
  readonly evidence: Evidence;
  /** Tasks that the agent added to a file; the run works them from then on. */
  readonly found: readonly QueuedTask[];
  /** Commit at the end of the iteration; null when nothing changed. */
  readonly commit: string | null;
  readonly verdict: Verdict;
}

/** Last line of a run's journal: the decision that ended it. A killed or failed run leaves none. */
export interface JournalEnd {
  readonly version: 1;
  readonly lane: LaneId;
  readonly decidedAt: number;
  /** Whether the run had been cancelled by then. */
  readonly cancelled: boolean;
  readonly outcome: Outcome;
}

/** What pure code made of an iteration; told to people, and replayable from the rest of the entry. */
export interface Verdict {
  readonly progress: boolean;
  readonly taskDone: boolean;
  /** Other tasks that their files say are done, and that are accepted. */
  readonly alsoDone: readonly TaskId[];
  readonly testOnly: boolean;
  readonly questionOnly: boolean;
  /** Claims that the evidence contradicts, as fixed sentences with numbers. */
  readonly discrepancies: readonly string[];
  /** Why a claim that everything is done was overruled; empty when it was not. */
  readonly vetoes: readonly string[];
  /** Denied commands made of allowed parts: advice to the user. */
  readonly advice: readonly string[];
  readonly countedDenials: number;
  readonly circuit: 'closed' | 'half-open' | 'open';
}

/** A journal's line, read back. */
export type JournalLine =
  | { readonly kind: 'start'; readonly start: JournalStart }
  | { readonly kind: 'iteration'; readonly entry: JournalEntry }
  | { readonly kind: 'end'; readonly end: JournalEnd }
  | { readonly kind: 'unreadable'; readonly why: string };

/** The start of a run as one line of JSON, without a line end. Of the tasks it holds what decisions read: no text. */
export function serializeStart(start: JournalStart): string {
  return JSON.stringify({
    kind: 'start',
    ...start,
    tasks: start.tasks.map(queued),
    state: serializeState(start.state),
  });
}

/** An iteration as one line of JSON, without a line end. */
export function serializeEntry(entry: JournalEntry): string {
  return JSON.stringify({ kind: 'iteration', ...entry, found: entry.found.map(queued) });
}

/** Journals call a task's obstacle its `hold`. */
function queued({ id, priority, dependsOn, optional, obstacle }: QueuedTask): object {
  return { id, priority, dependsOn, optional, hold: obstacle };
}

/** The end of a run as one line of JSON, without a line end. */
export function serializeEnd(end: JournalEnd): string {
  return JSON.stringify({ kind: 'end', ...end });
}

/** Reads a line of a journal; answers any string. */
export function parseJournalLine(line: string): JournalLine {
  const json = tryJson(line);
  if (json === undefined) return { kind: 'unreadable', why: 'it is not JSON' };
  const parsed = lineSchema.safeParse(json);
  if (!parsed.success) return { kind: 'unreadable', why: describeIssues(parsed.error.issues) };
  switch (parsed.data.kind) {
    case 'start': {
      const { kind, ...start } = parsed.data;
      const state = parseState(start.state, start.lane);
      if (state.kind === 'state') return { kind, start: { ...start, state: state.state } };
      return {
        kind: 'unreadable',
        why: `the state in it cannot be read: ${state.kind === 'newer' ? 'a newer version wrote it' : state.why}`,
      };
    }
    case 'iteration': {
      const { kind, ...entry } = parsed.data;
      return { kind, entry };
    }
    case 'end': {
      const { kind, ...end } = parsed.data;
      return { kind, end };
    }
  }
}

const instant = z.number().int().min(0).max(8.64e15);
const common = { version: z.literal(1), lane: z.string() };

const lineSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('start'),
    ...common,
    startedAt: instant,
    policy: policySchema,
    tasks: z.array(taskSchema),
    state: z.string(),
  }),
  z.object({
    kind: z.literal('iteration'),
    ...common,
    iteration: z.number().int().min(1),
    taskId: z.string(),
    taskTitle: z.string(),
    startedAt: instant,
    taskTree: z.string(),
    sessionDroppedAt: instant.nullable(),
    endedAt: instant,
    analysis: analysisSchema,
    evidence: evidenceSchema,
    // Journals of before tasks could stand in files have none.
    found: z.array(taskSchema).default([]),
    commit: z.string().nullable(),
    verdict: verdictSchema,
  }),
  z.object({ kind: z.literal('end'), ...common, decidedAt: instant, cancelled: z.boolean(), outcome: outcomeSchema }),
]);

function describeIssues(issues: readonly z.core.$ZodIssue[]): string {
  const fields = [...new Set(issues.map(({ path }) => path.join('.')))];
  const named = fields.filter((field) => field !== '').slice(0, 5);
  return named.length === 0
    ? 'it is no line of a journal'
    : `${named.join(', ')}: missing, or not as the schema wants it`;
}
