/** Stable id of a task across runs: `issue-12`. */
export type TaskId = string;

/** Work asked for, as the gate admitted it: text is cleaned and capped. */
export interface Task extends QueuedTask {
  readonly title: string;
  readonly body: string;
  readonly source: { readonly kind: 'issue'; readonly number: number; readonly url: string };
}

/** What decisions read of a task. */
export interface QueuedTask {
  readonly id: TaskId;
  /** 1 is highest. */
  readonly priority: number;
  readonly dependsOn: readonly TaskId[];
  /** Never blocks completion. */
  readonly optional: boolean;
}

/** How far a lane got with a task. */
export interface TaskProgress {
  readonly state: 'todo' | 'in-progress' | 'done' | 'failed' | 'blocked';
  /** Iterations spent on it. */
  readonly attempts: number;
  /** Tree of the work tree when the task was started; a task is only done when content differs from it. */
  readonly startedTree: string | null;
  /** HEAD after the iteration that finished it. */
  readonly doneCommit: string | null;
}
