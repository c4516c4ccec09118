import type { DoneSignals } from '../core/analysis/done-signals.ts';
import type { LockTool } from '../core/feedback/conflict/lock-tools.ts';

/** The checkout's instructions to the agent, read before any agent ran. */
export interface UserPrompt {
  readonly text: string;
  /** The file of the text; null means the built-in text. */
  readonly path: string | null;
  /** Text of the set-up that is done once, in the first iteration of the queue; null means no set-up. */
  readonly setup: string | null;
  /** Files that describe how to build and test, in the order in which they are named. */
  readonly instructions: readonly string[];
  /** Files that specify the project, in the order in which they are named. */
  readonly specifications: readonly string[];
  /** Tools for lock files that the code in the instructions calls. */
  readonly lockTools: readonly LockTool[];
  readonly signals: DoneSignals;
}
