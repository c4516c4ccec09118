import type { DoneSignals } from '../core/analysis/done-signals.ts';
import type { LockTool } from '../core/feedback/conflict/lock-tools.ts';

/** The checkout's instructions to the agent, read before any agent ran. */
export interface UserPrompt {
  readonly text: string;
  /** The file of the text; null = the built-in text. */
  readonly path: string | null;
  /** Text of the set-up that is done once, in the first iteration of the queue; null = none. */
  readonly setup: string | null;
  /** Files that say how to build and test, in the order in which they are named; `specifications` the same way. */
  readonly instructions: readonly string[];
  readonly specifications: readonly string[];
  /** Tools for lock files that the instructions call in their code. */
  readonly lockTools: readonly LockTool[];
  readonly signals: DoneSignals;
}
