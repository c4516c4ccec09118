import type { Analysis } from './analysis/analysis.ts';
import type { Evidence } from './evidence.ts';
import { analysisSchema, evidenceSchema, policySchema, taskSchema, verdictSchema } from './journal-schema.ts';
import type { Policy } from './policy.ts';
import { parseState, serializeState, type LaneId, type LaneState } from './state.ts';
import type { Task, TaskId } from './tasks/task.ts';
import { z } from 'zod';

/** First line of a run's journal: what the decisions of the run started from. */
export interface JournalStart {
  readonly version: 1;
  readonly lane: LaneId;
  readonly startedAt: number;
  readonly policy: Policy;
  readonly tasks: readonly Task[];
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
  readonly startedAt: number;
  readonly endedAt: number;
  readonly analysis: Analysis;
  readonly evidence: Evidence;
  /** Commit at the end of the iteration; null when nothing changed. */
  readonly commit: string | null;
  readonly verdict: Verdict;
}

/** What pure code made of an iteration; told to people, and replayable from the rest of the entry. */
export interface Verdict {
  readonly progress: boolean;
  readonly taskDone: boolean;
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
  | { readonly kind: 'unreadable'; readonly why: string };

/** An iteration as one line of JSON, without a line end. */
export function serializeEntry(entry: JournalEntry): string {
  return JSON.stringify({ kind: 'iteration', ...entry });
}

/** The start of a run as one line of JSON, without a line end. The bodies of tasks, which no decision reads, are left out. */
export function serializeStart(start: JournalStart): string {
  const tasks = start.tasks.map((task) => ({ ...task, body: '' }));
  return JSON.stringify({ kind: 'start', ...start, tasks, state: serializeState(start.state) });
}

/** Reads a line of a journal; answers any string. */
export function parseJournalLine(line: string): JournalLine {
  const parsed = lineSchema.safeParse(tryJson(line));
  if (!parsed.success) return { kind: 'unreadable', why: `${parsed.error.issues[0]?.path.join('.') || 'the line'} is not as the schema wants it` };
  if (parsed.data.kind === 'iteration') {
    const { kind, ...entry } = parsed.data;
    return { kind, entry };
  }
  const { kind, ...start } = parsed.data;
  const state = parseState(start.state, start.lane);
  return state.kind === 'state' ? { kind, start: { ...start, state: state.state } } : { kind: 'unreadable', why: 'the state in it cannot be read' };
}

const instant = z.number().int().min(0).max(8.64e15);

const lineSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('start'), version: z.literal(1), lane: z.string(), startedAt: instant, policy: policySchema, tasks: z.array(taskSchema), state: z.string() }),
  z.object({
    kind: z.literal('iteration'),
    version: z.literal(1),
    lane: z.string(),
    iteration: z.number().int().min(1),
    taskId: z.string(),
    taskTitle: z.string(),
    startedAt: instant,
    endedAt: instant,
    analysis: analysisSchema,
    evidence: evidenceSchema,
    commit: z.string().nullable(),
    verdict: verdictSchema,
  }),
]);

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
