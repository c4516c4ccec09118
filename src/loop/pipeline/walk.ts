import type { Snapshot } from '../../core/evidence.ts';
import type { Heard } from '../../core/pipeline/heard.ts';
import type { Attempt } from '../../core/pipeline/next-action.ts';
import type { Step } from '../../core/pipeline/pipeline.ts';
import type { EarlierStep } from '../../core/pipeline/step-notes.ts';
import type { CallUsage } from '../../core/lane/usage.ts';
import type { StepRecord } from '../../core/pipeline/step-record.ts';
import type { FileTask } from '../../core/tasks/files/file-task.ts';
import type { Work } from '../../handover/work.ts';
import type { FileTexts } from '../../ports/repository.ts';
import type { Iteration } from '../call.ts';
import type { Committed } from '../commit.ts';

/** How far the steps of an iteration are. */
export interface Walk {
  /** Charged with every call so far. */
  readonly work: Work;
  /** What every call said, retries included. */
  readonly heard: readonly Heard[];
  /** Of those, the calls that failed in a step that may fail, and those that were made again. */
  readonly failed: readonly Heard[];
  readonly earlier: readonly EarlierStep[];
  readonly records: readonly StepRecord[];
  /** The lane's conversation, which the next call may continue. */
  readonly sessionId: string | null;
  /** The conversation of the newest call; null: none was made, or its conversation is unknown. */
  readonly reached: string | null;
  readonly sessionDroppedAt: number | null;
  /** The marker by which a step said that everything is done, which is removed already; null: none did. */
  readonly doneMarker: string | null;
  /** Content of the work tree after the last step. */
  readonly tree: string;
  /** What was committed last. */
  readonly base: Snapshot;
  readonly committed: readonly Committed[];
}

/** One attempt at a step, and where it leaves the iteration. */
export interface Tried {
  readonly attempt: Attempt;
  readonly walk: Walk;
  readonly tail: string;
  /** Two if the first failed and was made again in a new conversation; empty: the step made no call. */
  readonly calls: readonly (CallUsage & { readonly heard: Heard })[];
}

/** What an iteration begins with. */
export interface Begun {
  readonly before: Snapshot;
  readonly listed: readonly FileTask[];
  /** Logs in which an agent keeps what it learns. */
  readonly notes: FileTexts;
  /** Done markers that existed before the iteration. */
  readonly standing: readonly string[];
}

/** A step as it runs. */
export interface Running<S extends Step = Step> {
  readonly iteration: Iteration & Begun;
  readonly step: S;
  /** How many steps the pipeline has. */
  readonly of: number;
}
