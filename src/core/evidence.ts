import type { TaskId } from './tasks/ids.ts';

/** A git object id of a tree or commit. */
export type ObjectId = string;

/** Content of a work tree at one instant: `tree` covers untracked files and leaves out `.ralph/` state, the agent's notes, the files of tasks and what git ignores. */
export interface Snapshot {
  readonly head: ObjectId;
  readonly tree: ObjectId;
}

/** How the agent's process ended. `timeout` says whose clock ran out. */
export type AgentEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'timeout'; readonly of: 'call' | 'run' }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'cancelled' };

/** Result of the user's verify commands after an iteration; `tail` is the end of their output. */
export type Verification =
  | { readonly kind: 'not-run' }
  | { readonly kind: 'passed'; readonly durationMs: number }
  | {
      readonly kind: 'failed';
      readonly command: string;
      readonly code: number | null;
      readonly tail: string;
      readonly durationMs: number;
    };

/** What an iteration really changed, measured; never a claim. `before` and `after` are what is published: without files that are withheld. */
export interface Evidence {
  readonly before: Snapshot;
  readonly after: Snapshot;
  /** Paths whose content differs between the two trees, sorted, at most 200; `fileCount` counts all. */
  readonly files: readonly string[];
  readonly fileCount: number;
  /** Paths that the work tree has and the branch must not get, at most 20: work that needs them is not published. */
  readonly withheld: readonly string[];
  /** Commits that the agent made itself. */
  readonly agentCommits: number;
  readonly insertions: number;
  readonly deletions: number;
  readonly end: AgentEnd;
  /** Characters of the agent's final message. */
  readonly outputChars: number;
  /** Whether that message ends in a status block that does not count because it stands in a code fence. */
  readonly fencedBlock: boolean;
  readonly verification: Verification;
  /** What became of the files of tasks; null: the lane has none. */
  readonly checklist: Checklist | null;
}

/** What an iteration did to the files of tasks. */
export interface Checklist {
  /** What its file says of the iteration's task; `gone`: the item is not there any more; null: it was not there when the iteration began. */
  readonly current: 'open' | 'done' | 'gone' | null;
  /** Tasks of the lane that were not done so far and are, as the files say. */
  readonly done: readonly TaskId[];
  /** Items that the iteration marked as done; its own task counts as well when an earlier one had marked it. */
  readonly finished: number;
  /** Open items that are not there any more. */
  readonly removed: number;
  readonly added: number;
}
