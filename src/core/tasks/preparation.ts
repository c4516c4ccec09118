import { createPathMatcher } from '../folder.ts';
import type { LaneState } from '../lane/state/state.ts';
import type { ReadableComments } from '../people/comments.ts';
import { cleanText, cleanTitle, countUnseenCharacters } from '../text/clean.ts';
import type { ApprovedIssue, JudgedTasks } from './admission.ts';
import { withoutSubTaskMarker } from '../proposal/proposal.ts';
import { listFirstNames } from '../text/phrase.ts';
import { titleOfIssue, type IssueText } from './issue-task.ts';
import { getProgress, resetProgress, listTasksWithinReach, withChangedTasks } from './queue.ts';
import { taskIdOfIssue, type TaskId } from './ids.ts';
import {
  isTaskBegun,
  issueOfTask,
  isSettled,
  isStuck,
  nameOfTask,
  type Approval,
  type Task,
  type TaskProgress,
} from './task.ts';

/** The part of the judged tasks that their preparation needs. */
export type JudgedCandidates = Pick<JudgedTasks, 'tasks' | 'state' | 'approved'>;

/** Tasks that are prepared for a prompt, and the state with their approvals. */
export interface PreparedTasks {
  readonly tasks: readonly Task[];
  readonly state: LaneState;
  readonly warnings: readonly string[];
}

/** A task with its text, cleaned and capped. */
export interface CleanedTask {
  readonly task: Task;
  /** Number of characters that were removed because a reader of the issue does not see them. */
  readonly unseen: number;
  /** Number of characters at the end of the text that did not fit. */
  readonly cut: number;
  /** True if nothing of title and text was left. */
  readonly isEmpty: boolean;
}

/**
 * Returns the open issues that may be worked on, the likeliest first. A run may get to any of them, since earlier tasks
 * may fail or be taken by another lane.
 */
export function listWorkableIssues(
  { tasks, state, approved }: JudgedCandidates,
  maxIterations: number,
): readonly ApprovedIssue[] {
  const isOpen = (id: TaskId): boolean => !isSettled(getProgress(state.tasks, id));
  const reach = listTasksWithinReach(tasks, state.tasks, maxIterations);
  const ids = new Set([...reach, ...tasks.map(({ id }) => id).filter(isOpen)]);
  return [...ids].flatMap((id) => approved.get(id) ?? []);
}

/**
 * Returns the state in which a task that waits for a person is open again if its approved text was edited since, or if
 * all protected paths that it waits for are `allowed`.
 */
export function reopenWaitingTasks(
  { state, approved }: Pick<JudgedCandidates, 'state' | 'approved'>,
  allowed: readonly string[],
  hashOf: (text: IssueText) => string,
): LaneState {
  const woken = [...approved].flatMap(([id, { text }]) => {
    const progress = getProgress(state.tasks, id);
    const before = isStuck(progress) ? progress.approval : undefined;
    if (before === undefined || before.text === hashOf(text)) return [];
    // The attempts of a failed task are used up, so the edited text gets new ones.
    const attempts = progress.state === 'failed' ? 0 : progress.attempts;
    return [[id, { ...progress, attempts, state: 'todo' as const, reason: null, setAside: null }] as const];
  });
  const ready = Object.keys(state.tasks).filter((id) => isNowAllowed(getProgress(state.tasks, id), allowed));
  if (woken.length + ready.length === 0) return state;
  const tasks = withChangedTasks(state.tasks, ready, resetProgress);
  return { ...state, tasks: { ...tasks, ...Object.fromEntries(woken) } };
}

/** Returns true if the task waits only for protected paths, all of which are `allowed`. */
export function isNowAllowed({ reason, needs = [] }: TaskProgress, allowed: readonly string[]): boolean {
  return reason === 'withheld' && needs.length > 0 && needs.every(createPathMatcher(allowed));
}

/**
 * Gives workable issues their texts and comments (by number), and keeps their approvals. `hashOf` returns the hash that
 * `Approval` keeps of a text.
 */
export function prepareTasks(
  judged: JudgedCandidates,
  workable: readonly ApprovedIssue[],
  comments: ReadonlyMap<number, ReadableComments>,
  hashOf: (text: IssueText) => string,
): PreparedTasks {
  const { tasks, state } = judged;
  const texts = new Map(workable.map((issue) => [taskIdOfIssue(issue.number), issue]));
  const prepared = tasks.map((task) => {
    const issue = texts.get(task.id);
    return issue === undefined ? task : withText(task, issue.text, comments.get(issue.number) ?? noComments);
  });
  const cleaned = prepared.filter((one) => 'task' in one);
  return {
    tasks: prepared.map((one) => ('task' in one ? one.task : one)),
    state: {
      ...state,
      tasks: withApprovals(judged, new Set(texts.keys()), hashOf),
      // A task that was closed, deleted or unlabelled in the meantime is no longer current.
      currentTask: tasks.some(({ id }) => id === state.currentTask) ? state.currentTask : null,
    },
    warnings: warnOfTexts(cleaned),
  };
}

const noComments: ReadableComments = { comments: [], unseen: 0 };

/** Returns the task with its text and comments. */
export function withText(task: Task, text: IssueText, { comments, unseen }: ReadableComments): CleanedTask {
  const body = cleanText(withoutSubTaskMarker(text.body));
  const title = cleanTitle(text.title);
  return {
    task: { ...task, title: titleOfIssue(title.text, issueOfTask(task) ?? 0), body: body.text, comments },
    unseen: countUnseenCharacters(body) + countUnseenCharacters(title) + unseen,
    cut: body.removed - countUnseenCharacters(body),
    isEmpty: title.text === '' && body.text.trim() === '',
  };
}

/** Returns warnings about texts that the agent gets only in part, or that are empty for it. */
function warnOfTexts(cleaned: readonly CleanedTask[]): readonly string[] {
  const unseen = cleaned.reduce((sum, one) => sum + one.unseen, 0);
  const long = cleaned.filter(({ cut }) => cut > 0);
  const [text, is, its] = long.length === 1 ? ['text', 'is', 'its end is'] : ['texts', 'are', 'their ends are'];
  const left = long.reduce((sum, { cut }) => sum + cut, 0).toLocaleString('en-US');
  const empty = cleaned.filter(({ isEmpty }) => isEmpty);
  const names = (some: readonly CleanedTask[]): string => listFirstNames(some.map(({ task }) => nameOfTask(task)));
  return [
    ...(unseen === 0
      ? []
      : [`${unseen} characters that readers of the issues do not see were removed from the tasks' texts.`]),
    ...(long.length === 0
      ? []
      : [`The ${text} of ${names(long)} ${is} longer than 20,000 characters: ${its} left out (${left} characters).`]),
    ...(empty.length === 0
      ? []
      : [`The title and text of ${names(empty)} have no visible content: the agent gets only the number.`]),
  ];
}

/**
 * Returns the tasks with consent to those that may be worked on now, and to those settled before consent was stored;
 * consent to unknown issues is dropped.
 */
function withApprovals(
  { tasks, state, approved }: JudgedCandidates,
  workable: ReadonlySet<TaskId>,
  hashOf: (text: IssueText) => string,
): LaneState['tasks'] {
  const listed = new Set(tasks.map(({ id }) => id));
  const known = Object.entries(state.tasks).filter(([id, task]) => listed.has(id) || isTaskBegun(task));
  const given = [...approved]
    .filter(([id]) => workable.has(id) || (Object.hasOwn(state.tasks, id) && state.tasks[id]?.approval === undefined))
    .map(([id, { text, by, at }]) => {
      const approval: Approval = { text: hashOf(text), by, at };
      return [id, { ...getProgress(state.tasks, id), approval }] as const;
    });
  return Object.fromEntries([...known, ...given]);
}
