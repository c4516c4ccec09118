import type { Analysis } from './analysis/analysis.ts';
import type { Evidence } from './evidence.ts';
import type { LaneId } from './state.ts';
import type { TaskId } from './tasks/task.ts';

/** One line per iteration: enough to make its decisions again. Agent text in it is redacted and capped before it gets here. */
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
  /** Why an EXIT_SIGNAL true was overruled; empty when it was not. */
  readonly vetoes: readonly string[];
  /** Denied commands made of allowed parts: advice to the user. */
  readonly advice: readonly string[];
  readonly countedDenials: number;
  readonly circuit: 'closed' | 'half-open' | 'open';
}
