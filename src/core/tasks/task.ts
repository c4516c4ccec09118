import { z } from 'zod';
import type { FeedbackSubject } from '../feedback/subject.ts';
import { amountSchema, countSchema, type Immutable, instantSchema } from '../policy.ts';

/** A task as the gate accepted it: text is cleaned and capped. */
export interface Task extends QueuedTask {
  readonly title: string;
  readonly body: string;
  readonly source: TaskSource;
  /** Comments by people with write permission from before the approval, oldest first; cleaned and capped. */
  readonly comments: readonly TaskComment[];
}

/**
 * The source of a task. Paths are relative to the checkout; `key` is the entry's own id in its file; `issue` is the
 * issue that the entry's authors name.
 */
type TaskSource =
  | { readonly kind: 'issue'; readonly number: number; readonly url: string; readonly labels: readonly string[] }
  | { readonly kind: 'plan'; readonly path: string; readonly line: number }
  | { readonly kind: 'prd'; readonly path: string; readonly key: string; readonly issue: number | null }
  | { readonly kind: 'beads'; readonly path: string; readonly key: string }
  /** `documents` are files that the prompt points to. */
  | { readonly kind: 'prompt'; readonly path: string; readonly documents: readonly string[] }
  /** Feedback of people or CI on the lane's own pull request. */
  | { readonly kind: 'feedback'; readonly on: FeedbackSubject; readonly pullRequest: number; readonly url: string };

export interface TaskComment {
  readonly by: string;
  readonly text: string;
}

/**
 * The reasons why an open task may not be worked on. `needs-approval`: a person without write access changed its text
 * after the label was added. `dependency-unknown`, `dependency-cycle`: its dependency does not exist, or depends on it.
 * `unchecked`: the task is so far down the queue that this run did not look up its approval. `unread`: a failed check
 * that this run did not read, because it works on other failed checks first, which may have the same cause. `held`: the
 * lane's pull request is approved, or about to be merged, and nobody asks for this task by name. `circuit-open`:
 * written by earlier versions for a task that opened another lane's circuit. `withdrawn`: a person withdrew its issue
 * while this run worked: it is neither worked on nor reported as done. `unreadable`: a placeholder for a file, or a
 * part of one, that cannot be read.
 */
export const taskObstacles = [
  'needs-approval',
  'dependency-unknown',
  'dependency-cycle',
  'unchecked',
  'unreadable',
  'unread',
  'held',
  'circuit-open',
  'withdrawn',
] as const;
export type TaskObstacle = (typeof taskObstacles)[number];

export const queuedTaskSchema = z.lazy(() =>
  z.object({
    id: z.string(),
    /** The task's priority; 1 is highest. */
    priority: z.number(),
    dependsOn: z.array(z.string()),
    /** True if the task never blocks completion. */
    optional: z.boolean(),
    /** The reason why an open task may not be worked on; null if it may be. */
    obstacle: z.enum(taskObstacles).nullable(),
  }),
);

/** The part of a task that decisions read. */
export type QueuedTask = Immutable<z.infer<typeof queuedTaskSchema>>;

/**
 * `failed`: it took too many iterations. `blocked`: it takes a person to continue. `stuck`: set aside, since nothing
 * changed, until its next turn.
 */
export const taskStates = ['todo', 'in-progress', 'done', 'failed', 'blocked', 'stuck'] as const;
export type TaskState = (typeof taskStates)[number];

/** The reasons for a failed, blocked or stuck task. */
export const stuckReasons = [
  'max_iterations_per_task',
  'status_blocked',
  'nothing_to_do',
  'withheld',
  'no_progress',
  'output_decline',
  'feedback_rounds',
  'push_refused',
  'ceiling',
] as const;

const objectId = z.string().max(64);

/** Maximum length of a refusal's words in characters; longer ones are cut. */
export const MAX_SERVER_WORDS_CHARS = 900;

/** Maximum number of paths of unpublished files that a task remembers. */
export const MAX_NAMED_PATHS = 5;
/** Maximum length of such a path in characters; longer ones are cut. */
export const MAX_NAMED_PATH_CHARS = 200;
const namedPaths = z.array(z.string().max(MAX_NAMED_PATH_CHARS)).max(MAX_NAMED_PATHS);

const refusedWorkSchema = z.lazy(() =>
  z.object({
    /** Number of refusals in a row. */
    times: countSchema,
    /** The problem, the remedy, and the server's words. */
    words: z.string().max(MAX_SERVER_WORDS_CHARS),
    /** Files that were left out of the branch; empty if a whole iteration was left out. */
    files: namedPaths,
  }),
);

/** Work of a task that the git server refused. */
export type RefusedWork = Immutable<z.infer<typeof refusedWorkSchema>>;

const approvalSchema = z.lazy(() =>
  z.object({
    /** First 32 hex digits of the SHA-256 of title and body, as GitHub has them. */
    text: z.string().max(64),
    /** Login of the person who added the label. */
    by: z.string().max(100),
    /** The instant at which they asked for the work: added the label, or reopened the issue. */
    at: instantSchema,
  }),
);

/** Approval of an issue's text: the label is consent to the text that it was added to. */
export type Approval = Immutable<z.infer<typeof approvalSchema>>;

const mark = z.literal(true).optional();

export const taskProgressSchema = z.lazy(() =>
  z.object({
    /** `finished`: an iteration's work on it was accepted, and no check has proven the commit yet. */
    state: z.enum([...taskStates, 'finished']),
    /** Iterations spent on it. */
    attempts: countSchema,
    /** Tree of the work tree when the task was started; a task is only done when content differs from it. */
    startedTree: objectId.nullable().default(null),
    /** HEAD after the iteration that finished it. */
    doneCommit: objectId.nullable().default(null),
    /** The reason why the task is failed, blocked or stuck; null if it is not. */
    reason: z.enum(stuckReasons).nullable().default(null),
    /** Number of times in a row that the task was set aside, and the last instant; null if it made progress since. */
    setAside: z.object({ times: countSchema, at: instantSchema }).nullable().default(null),
    /** Set until a push with its work is accepted. Absent in earlier states of version 6. */
    refused: refusedWorkSchema.optional(),
    /** Protected paths that a task blocked as `withheld` needs; large states lack it. */
    needs: namedPaths.optional(),
    /**
     * Set for a finished task that was reopened because no verification of the head had passed: the next one that
     * passes makes it done.
     */
    unproven: mark,
    /** Set for a done task that the branch's version of its file does not list, so that the file cannot mark it. */
    unmarked: mark,
    /**
     * Set for a task that its file calls failed or blocked and that a person retried, until an iteration is spent on
     * it.
     */
    retried: mark,
    /**
     * The most that iterations on it may cost, in US dollars, and what they have cost. Set for a sub-issue of an
     * approved proposal.
     */
    ceiling: z.object({ usd: amountSchema, spentUsd: amountSchema }).optional(),
    /** Consent to the text of the issue that was worked on last. */
    approval: approvalSchema.optional(),
    /**
     * Set if another lane worked on it last: its progress is a copy of that lane's progress, until it is worked on
     * here. `at` is when that lane's run ended.
     */
    answer: z.object({ lane: z.string().max(120), at: instantSchema }).optional(),
  }),
);

/** Everything that a lane knows about a task. */
export type TaskProgress = Immutable<z.infer<typeof taskProgressSchema>>;

/** Returns true if no work is left on the task: it is done, or will be once its commit is proven. */
export function isFinished({ state }: Pick<TaskProgress, 'state'>): boolean {
  return state === 'finished' || state === 'done';
}

/** Returns true if a run of any lane began the task. */
export function isTaskBegun({ state, attempts, answer }: TaskProgress): boolean {
  return state !== 'todo' || attempts > 0 || answer !== undefined;
}

/** A task's progress as people read it. */
export type ShownProgress = Omit<TaskProgress, 'state'> & { readonly state: TaskState };

/** Returns the progress as pages show it: `finished` appears as `done`. */
export function computeShownProgress(progress: TaskProgress): ShownProgress {
  return { ...progress, state: computeShownState(progress) };
}

/** Returns the state that people see: a finished task counts as done. */
export function computeShownState({ state }: Pick<TaskProgress, 'state'>): TaskState {
  return state === 'finished' ? 'done' : state;
}

/** Returns true if no run works on the task any longer, unless a person asks for it again. */
export function isSettled(progress: Pick<TaskProgress, 'state'>): boolean {
  return isFinished(progress) || isStuck(progress);
}

/** Returns true if the task is failed, blocked or stuck; a person can reopen it at once. */
export function isStuck({ state }: Pick<TaskProgress, 'state'>): boolean {
  return state === 'failed' || state === 'blocked' || state === 'stuck';
}

/** Returns the file that marks a task as failed or blocked without an iteration of this lane; null if none. */
export function findMarkingFile(
  { source }: Pick<Task, 'source'>,
  progress: Pick<TaskProgress, 'state' | 'attempts'>,
): string | null {
  const isMarkedByFile = (progress.state === 'failed' || progress.state === 'blocked') && progress.attempts === 0;
  return isMarkedByFile && 'path' in source ? source.path : null;
}

/**
 * Returns the name of the task for people: `#12`, `.ralph/fix_plan.md:7`, `US-001`, `PROMPT.md`, `thread on
 * src/a.js:3`.
 */
export function nameOfTask({ source }: Pick<Task, 'source'>): string {
  switch (source.kind) {
    case 'issue':
      return `#${source.number}`;
    case 'plan':
      return `${source.path}:${source.line}`;
    case 'prd':
    case 'beads':
      return source.key;
    case 'prompt':
      return source.path;
    case 'feedback':
      return nameOfSubject(source.on);
  }
}

function nameOfSubject(on: FeedbackSubject): string {
  switch (on.kind) {
    case 'thread':
      return `thread on ${on.path}${on.line === null ? '' : `:${on.line}`}`;
    case 'review':
    case 'comment':
      return `${on.kind} by ${on.by}`;
    case 'check':
      return `check ${on.name}`;
    case 'conflict':
      return `conflict with ${on.branch}`;
  }
}

/** A task that the lane was made for: everything but feedback of people and CI on its pull request. */
export type ListedTask = Task & { readonly source: Exclude<TaskSource, { kind: 'feedback' }> };

/** Returns true if the lane was made for the task, so that people see it in its list of tasks. */
export function isListedTask(task: Task): task is ListedTask {
  return task.source.kind !== 'feedback';
}

/** Returns the number of the issue that the task is; null for any other task. */
export function issueOfTask({ source }: Pick<Task, 'source'>): number | null {
  return source.kind === 'issue' ? source.number : null;
}

/**
 * Returns the number of the issue to close once the task is done: the task itself, or the issue that a file's entry
 * names; null if none.
 */
export function findIssueToClose({ source }: Pick<Task, 'source'>): number | null {
  if (source.kind === 'issue') return source.number;
  return source.kind === 'prd' ? source.issue : null;
}

/** Returns the task without its issue: an entry that an agent wrote closes none. */
export function withoutIssue(task: Task): Task {
  return task.source.kind === 'prd' ? { ...task, source: { ...task.source, issue: null } } : task;
}
