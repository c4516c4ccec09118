import { z } from 'zod';
import type { Subject } from '../feedback/subject.ts';
import { count, type Immutable, instant } from '../policy.ts';

/** Work asked for, as the gate accepted it: text is cleaned and capped. */
export interface Task extends QueuedTask {
  readonly title: string;
  readonly body: string;
  readonly source: TaskSource;
  /** What people with write permission had said when the work was approved, oldest first; cleaned and capped. */
  readonly comments: readonly TaskComment[];
}

/** Where a task comes from. Paths are relative to the checkout; `key` is the entry's own id in its file; `issue`: what the people who wrote the entry say that it is about. */
type TaskSource =
  | { readonly kind: 'issue'; readonly number: number; readonly url: string; readonly labels: readonly string[] }
  | { readonly kind: 'plan'; readonly path: string; readonly line: number }
  | { readonly kind: 'prd'; readonly path: string; readonly key: string; readonly issue: number | null }
  | { readonly kind: 'beads'; readonly path: string; readonly key: string }
  /** `documents`: files that the prompt points to. */
  | { readonly kind: 'prompt'; readonly path: string; readonly documents: readonly string[] }
  /** What people or CI say of the lane's own pull request. */
  | { readonly kind: 'feedback'; readonly on: Subject; readonly pullRequest: number; readonly url: string };

export interface TaskComment {
  readonly by: string;
  readonly text: string;
}

/**
 * `needs-approval`: its text was changed after the label was put on, by somebody who may not write.
 * `dependency-unknown`, `dependency-cycle`: what it depends on does not exist, or depends on it.
 * `unchecked`: so far down the queue that this run did not look who approved it.
 * `unread`: a failed check that this run did not read, since it works on others first: they may have one cause.
 * `held`: the lane's pull request is approved, or about to be merged, and nobody asks for this task by name.
 * `circuit-open`: earlier versions wrote it of what opened the circuit of another lane.
 * `withdrawn`: a person took its issue back while this run worked: nothing is done for it or said to be done.
 * `unreadable`: it stands for a file, or a part of one, that cannot be read, so that nobody knows what it asks for.
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

export const queuedTaskSchema = z.object({
  id: z.string(),
  /** 1 is highest. */
  priority: z.number(),
  dependsOn: z.array(z.string()),
  /** Never blocks completion. */
  optional: z.boolean(),
  /** Why it may not be worked although it is open; null: nothing is in the way. */
  obstacle: z.enum(taskObstacles).nullable(),
});

/** What decisions read of a task. */
export type QueuedTask = Immutable<z.infer<typeof queuedTaskSchema>>;

/**
 * `failed`: it took too many iterations. `blocked`: it takes a person to continue.
 * `stuck`: set aside, since nothing changed; it has another turn when its time has come.
 */
export const taskStates = ['todo', 'in-progress', 'done', 'failed', 'blocked', 'stuck'] as const;
export type TaskState = (typeof taskStates)[number];

/** Why a task is failed, blocked or stuck. */
export const stuckReasons = [
  'max_iterations_per_task',
  'status_blocked',
  'nothing_to_do',
  'withheld',
  'no_progress',
  'output_decline',
  'feedback_rounds',
  'push_refused',
] as const;

const objectId = z.string().max(64);

/** A refusal's words are cut to this length. */
export const MAX_SERVER_WORDS_CHARS = 900;
const MAX_REFUSED_FILES = 5;

const refusedWorkSchema = z.object({
  /** How often in a row. */
  times: count,
  /** What is wrong, what helps, and the server's words. */
  words: z.string().max(MAX_SERVER_WORDS_CHARS),
  /** Files that were left out of the branch; none: all of an iteration was. */
  files: z.array(z.string().max(200)).max(MAX_REFUSED_FILES),
});

/** What the git server did not take of a task's work. */
export type RefusedWork = Immutable<z.infer<typeof refusedWorkSchema>>;

export const approvalSchema = z.object({
  /** First 32 hex digits of the SHA-256 of title and body, as GitHub has them. */
  text: z.string().max(64),
  /** Login of who put the label on. */
  by: z.string().max(100),
  /** When they asked for the work: put the label on, or reopened the issue. */
  at: instant,
});

/** Who approved which text of an issue: the label is consent to the text that it was put on. */
export type Approval = Immutable<z.infer<typeof approvalSchema>>;

const mark = z.literal(true).optional();

export const taskProgressSchema = z.object({
  /** `finished`: an iteration's work on it was accepted, and no check has proven the commit yet. */
  state: z.enum([...taskStates, 'finished']),
  /** Iterations spent on it. */
  attempts: count,
  /** Tree of the work tree when the task was started; a task is only done when content differs from it. */
  startedTree: objectId.nullable().default(null),
  /** HEAD after the iteration that finished it. */
  doneCommit: objectId.nullable().default(null),
  /** Why it is failed, blocked or stuck; null: it is not. */
  reason: z.enum(stuckReasons).nullable().default(null),
  /** How often in a row it was set aside, and when last; null: not since it last made progress. */
  setAside: z.object({ times: count, at: instant }).nullable().default(null),
  /** Until a push with its work is taken. Earlier states of version 6 do not say. */
  refused: refusedWorkSchema.optional(),
  /** It was finished and taken back, since no check of the head had passed: the next one that passes makes it done. */
  unproven: mark,
  /** Of a file: it is done although the branch's file does not list it, so that nothing marks it. */
  unmarked: mark,
  /** Of a file that calls it failed or blocked: a person had it tried again, until an iteration is spent on it. */
  retried: mark,
  /** Consent to the text of the issue that was worked on last. */
  approval: approvalSchema.optional(),
  /** Another lane worked on it last: it stands here as it stands there, until it is worked on here. `at`: when that lane's run ended. */
  answer: z.object({ lane: z.string().max(120), at: instant }).optional(),
});

/** Everything that a lane knows about a task. */
export type TaskProgress = Immutable<z.infer<typeof taskProgressSchema>>;

/** Tells whether no work is left on the task: it is done, or will be once its commit is proven. */
export function isFinished({ state }: Pick<TaskProgress, 'state'>): boolean {
  return state === 'finished' || state === 'done';
}

/** Tells whether a run of any lane began the task. */
export function isBegun({ state, attempts, answer }: TaskProgress): boolean {
  return state !== 'todo' || attempts > 0 || answer !== undefined;
}

/** A task as people read it. */
export type ShownProgress = Omit<TaskProgress, 'state'> & { readonly state: TaskState };

/** Returns the progress as pages show it: `finished` appears as `done`. */
export function shownProgress(progress: TaskProgress): ShownProgress {
  return { ...progress, state: shownState(progress) };
}

export function shownState({ state }: Pick<TaskProgress, 'state'>): TaskState {
  return state === 'finished' ? 'done' : state;
}

/** Whether no run works on it any more, unless it is asked for again. */
export function isSettled(progress: Pick<TaskProgress, 'state'>): boolean {
  return isFinished(progress) || isStuck(progress);
}

/** Whether it was given up for now: a person can continue with it at once. */
export function isStuck({ state }: Pick<TaskProgress, 'state'>): boolean {
  return state === 'failed' || state === 'blocked' || state === 'stuck';
}

/** The file that alone says of a task that it failed or is blocked, since no iteration was spent on it here; null: there is none. */
export function markedIn(
  { source }: Pick<Task, 'source'>,
  progress: Pick<TaskProgress, 'state' | 'attempts'>,
): string | null {
  const isMarked = (progress.state === 'failed' || progress.state === 'blocked') && progress.attempts === 0;
  return isMarked && 'path' in source ? source.path : null;
}

/** What people call the task: `#12`, `.ralph/fix_plan.md:7`, `US-001`, `PROMPT.md`, `thread on src/a.js:3`. */
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

function nameOfSubject(on: Subject): string {
  switch (on.kind) {
    case 'thread':
      return `thread on ${on.path}${on.line === null ? '' : `:${on.line}`}`;
    case 'review':
      return `review by ${on.by}`;
    case 'check':
      return `check ${on.name}`;
    case 'conflict':
      return `conflict with ${on.branch}`;
  }
}

/** A task that the lane was made for: everything but what people and CI say of its pull request. */
export type ListedTask = Task & { readonly source: Exclude<TaskSource, { kind: 'feedback' }> };

/** Whether the lane was made for it, so that people see it in its list of tasks. */
export function isListed(task: Task): task is ListedTask {
  return task.source.kind !== 'feedback';
}

/** Number of the issue that the task is; null for any other. */
export function issueOfTask({ source }: Pick<Task, 'source'>): number | null {
  return source.kind === 'issue' ? source.number : null;
}

/** The issue that is closed once the task is done: itself, or what the entry of a file names; null: none. */
export function issueToClose({ source }: Pick<Task, 'source'>): number | null {
  if (source.kind === 'issue') return source.number;
  return source.kind === 'prd' ? source.issue : null;
}

/** The same task, about no issue: an entry that an agent wrote closes none. */
export function withoutIssue(task: Task): Task {
  return task.source.kind === 'prd' ? { ...task, source: { ...task.source, issue: null } } : task;
}
