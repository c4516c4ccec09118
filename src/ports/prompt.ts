import type { DoneSignals } from '../core/analysis/done-signals.ts';
import type { LockTool } from '../core/feedback/conflict/lock-tools.ts';

/** What the checkout tells the agent, as the job made it: read before any agent ran. */
export interface UserPrompt {
  readonly text: string;
  /** Where the text is from; null: it is the built-in one. */
  readonly path: string | null;
  /** What is to be done once, in the first iteration of the queue; null: nothing. */
  readonly setup: string | null;
  /** Files that say how to build and test, and places of specifications, in the order in which they are named. */
  readonly instructions: readonly string[];
  readonly specifications: readonly string[];
  /** Tools for lock files that the former call in their code. */
  readonly lockTools: readonly LockTool[];
  readonly signals: DoneSignals;
}
