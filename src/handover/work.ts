import type { JournalEntry } from '../core/journal/journal.ts';
import type { ObjectId, Verification } from '../core/evidence.ts';
import type { IsolationFacts } from '../core/isolation/facts.ts';
import type { Outcome, RunBound } from '../core/outcome.ts';
import type { LaneState } from '../core/lane/state.ts';
import type { LookAt } from '../core/review/look-at.ts';
import type { TaskId } from '../core/tasks/ids.ts';
import type { Task } from '../core/tasks/task.ts';
import type { Lane, Notes } from './intake.ts';
import type { Withheld } from '../ports/repository.ts';
import type { AgentName } from '../ports/agent.ts';

/** Who says what was measured: this job, the job of the loop, or the record on disk that main left to post. */
export type IsolationSource = (typeof isolationSources)[number];
export const isolationSources = ['this-job', 'loop-job', 'record'] as const;

/** Work of a run in which nothing was done, as far as it stands. */
export function untouchedWork(
  {
    lane,
    tasks,
    notes,
    state,
    head,
    remoteHead,
    shown,
    startedAt,
  }: Pick<Work, 'lane' | 'tasks' | 'notes' | 'state' | 'head' | 'remoteHead' | 'shown' | 'startedAt'>,
  now: number,
): Omit<Work, 'outcome'> {
  return {
    lane,
    tasks,
    notes,
    stateBefore: state,
    state,
    journal: [],
    headVerification: null,
    base: head,
    head,
    remoteHead,
    safe: { state, iterations: 0 },
    hasNewCommits: false,
    withheld: [],
    lookAt: [],
    warnings: [],
    isolation: null,
    isolationFrom: 'loop-job',
    shown,
    notWaited: null,
    agent: { name: '', version: '' },
    startedAt,
    endedAt: now,
  };
}

/** What the loop hands to the publisher. It is on disk after every step, so that post can publish what a killed main left. */
export interface Work {
  readonly lane: Lane;
  readonly tasks: readonly Task[];
  readonly notes: Notes;
  /** State of the lane before this run: what holds if the commits cannot be published. */
  readonly stateBefore: LaneState;
  readonly state: LaneState;
  readonly journal: readonly JournalEntry[];
  /** This run's newest verification in a clean clone, of which commit, and after how many iterations; null: there was none. */
  readonly headVerification: {
    readonly commit: ObjectId;
    readonly after: number;
    readonly verification: Verification;
  } | null;
  /** The commit that the lane was at when this run opened it. */
  readonly base: ObjectId;
  /** Tip of the lane's branch as this run makes it. */
  readonly head: ObjectId;
  /** Tip of the branch on the remote, as far as this run knows; null: there is none. */
  readonly remoteHead: ObjectId | null;
  /** What holds for `remoteHead`: the state then, and how many iterations had led to it. */
  readonly safe: { readonly state: LaneState; readonly iterations: number };
  /** Whether this run made commits. */
  readonly hasNewCommits: boolean;
  readonly withheld: readonly Withheld[];
  /** What a reviewer looks at first, of this run. */
  readonly lookAt: readonly LookAt[];
  readonly warnings: readonly string[];
  /** What was measured of the isolation of all that runs the lane's code; null: the loop has not begun, or nothing was measured. */
  readonly isolation: IsolationFacts | null;
  readonly isolationFrom: IsolationSource;
  /** The task whose issue says that the run is at work; null: none does. */
  readonly shown: TaskId | null;
  /** The run's own bound because of which it did not wait for a limit, as it was to; null: there is none. */
  readonly notWaited: RunBound | null;
  readonly agent: AgentName;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
}
