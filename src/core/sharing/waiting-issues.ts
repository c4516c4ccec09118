import { z } from 'zod';
import { HOUR_MS } from '../countdown.ts';
import type { WaitingPullRequest } from '../feedback/pull-request-now.ts';
import { withUnanswered } from '../lane/state/serialize-state.ts';
import type { LaneState } from '../lane/state/state.ts';
import { classifyNeed } from '../people/needs.ts';
import { subjectOfLane, MAX_NOTIFICATIONS, type Notification } from '../people/notifications.ts';
import { countSchema, type Immutable, instantSchema } from '../policy.ts';
import { isIssueTask, isLaneId, type LaneId, QUEUE, setAside, storedTaskId, type TaskId } from '../tasks/ids.ts';
import { getProgress, untouchedProgress } from '../tasks/queue.ts';
import { isFinished, isStuck, type TaskProgress, taskStates } from '../tasks/task.ts';

/** Time in ms after which an unchanged pull request is examined again, since a task that was set aside may be due. */
const LOOK_AGAIN_MS = 6 * HOUR_MS;

/** A pull request's state as a run saw it (head, base and GitHub's results), and the instant. */
export const examinationSchema = z.object({ seen: z.string().max(200), at: instantSchema });

/** The pull request that was examined, by its lane. */
export const examinedPullSchema = examinationSchema.extend({ lane: z.string().max(120) });

/** A pull request that a run examined: it worked on it, or found nothing to do. */
export type ExaminedPullRequest = Immutable<z.infer<typeof examinedPullSchema>>;

/**
 * An open pull request that conflicts with its base or whose checks fail (`work`), or into which its base is merged
 * (`update`).
 */
export interface LaneInNeed {
  readonly lane: LaneId;
  readonly need: 'work' | 'update';
  readonly seen: string;
}

/** Maximum number of waiting issues; the oldest are dropped first. */
export const MAX_WAITING = 100;

export const waitingIssueSchema = z
  .object({
    /** The lane that worked on it last: its state has the progress, the consent and the comments. */
    lane: z.string().max(120),
    task: storedTaskId,
    /** The instant at which that lane's run ended, or at which a person requested the issue again. */
    at: instantSchema,
    isAsked: z.boolean().optional(),
    /** Iterations spent on the issue by then; a later answer has more of them. */
    attempts: countSchema.optional(),
    /** Progress of the issue, which earlier versions stored in place of `attempts` and `isAsked`. */
    progress: z.object({ state: z.enum(taskStates), attempts: countSchema }).optional(),
  })
  .transform(({ lane, task, at, isAsked, attempts, progress }) => ({
    ...{ lane, task, at, attempts: attempts ?? progress?.attempts ?? 0 },
    isAsked: isAsked ?? (progress !== undefined && !isStuck(progress)),
  }));

/**
 * An issue that waits for a person or for another turn, as its lane left it. `isAsked` is true if a person has
 * requested it since.
 */
export type WaitingIssue = Immutable<z.infer<typeof waitingIssueSchema>>;

/** A lane's answer for a waiting issue: the issue's progress there, and the comment that asks a person about it. */
export interface LaneAnswer extends Pick<WaitingIssue, 'lane' | 'task' | 'at'> {
  readonly progress: TaskProgress;
  readonly notice: { readonly thread: number; readonly comment: number; readonly at: number } | null;
}

export const openCircuitSchema = z.object({ lane: z.string().max(120), task: storedTaskId, openedAt: instantSchema });

/** Returns the waiting issues after a person requested some of them. */
export function reopenWaiting(
  waiting: readonly WaitingIssue[],
  asked: readonly TaskId[],
  now: number,
): readonly WaitingIssue[] {
  const isOver = ({ task, isAsked }: WaitingIssue): boolean => asked.includes(task) && !isAsked;
  return waiting.some(isOver)
    ? waiting.map((one) => (isOver(one) ? { ...one, isAsked: true, at: now } : one))
    : waiting;
}

/**
 * Returns the answer for a waiting issue from the state of its lane; null if the lane itself continues with the issue.
 */
export function findAnswer({ lane, task, at, isAsked }: WaitingIssue, state: LaneState): LaneAnswer | null {
  const { approval } = getProgress(state.tasks, task);
  const progress = isAsked ? { ...untouchedProgress, approval } : waitingProgress(state, task);
  return progress === null ? null : { lane, task, at, progress, notice: noticeOf(state, task) };
}

/**
 * Returns the lane's state with the answers of other lanes, and of people, for its issues. The lane's own later results
 * stay, and issues with outdated answers are open again. `elsewhere` are issues on branches of their own, whose lanes
 * settle their own comments.
 */
export function withAnswers(state: LaneState, waiting: readonly LaneAnswer[], elsewhere: readonly TaskId[]): LaneState {
  const answers = waiting.filter(
    ({ lane, task, progress }) =>
      (lane !== state.lane || !isStuck(progress)) &&
      (state.lane === QUEUE || task === state.lane) &&
      isIssueTask(task) &&
      !elsewhere.includes(task),
  );
  const over = Object.keys(state.tasks).filter(
    (id) => state.tasks[id]?.answer !== undefined && answers.every(({ task }) => task !== id),
  );
  const begun = withUnanswered(withoutCommentsOf(state, waiting, elsewhere), over);
  return answers.filter((answer) => !holdsAlready(begun, answer)).reduce(withIssueAnswer, begun);
}

/** Returns the state without the comments that another lane settles; the lane's own comments stay. */
function withoutCommentsOf(state: LaneState, waiting: readonly LaneAnswer[], elsewhere: readonly TaskId[]): LaneState {
  const isTheirs = ({ about, comment }: Notification): boolean =>
    waiting.some(
      ({ lane, task, notice }) =>
        lane !== state.lane && task === about && elsewhere.includes(task) && notice?.comment === comment,
    );
  return state.notified.some(isTheirs) ? { ...state, notified: state.notified.filter((one) => !isTheirs(one)) } : state;
}

function holdsAlready({ tasks }: LaneState, { lane, task, at }: LaneAnswer): boolean {
  const { state, answer } = getProgress(tasks, task);
  return state === 'done' || (answer?.lane === lane && answer.at === at);
}

function withIssueAnswer(state: LaneState, { lane, task, progress, notice, at }: LaneAnswer): LaneState {
  const known = getProgress(state.tasks, task);
  const isNew =
    notice !== null && state.notified.every(({ comment, about }) => comment !== notice.comment || about !== task);
  // The progress of a task that was requested again has no kind of need, so its comment is treated as one about a stuck
  // task.
  const kind = classifyNeed(progress) ?? 'stuck';
  // Comments about this task alone were settled by the lane that has worked on it since, so only comments about others
  // as well stay.
  const asksMore = (one: Notification): boolean =>
    state.notified.some(({ comment, about }) => comment === one.comment && about !== task);
  const open = state.notified.filter(
    (one) => one.about !== task || one.comment === notice?.comment || one.kind === 'needs_approval' || asksMore(one),
  );
  const asking = open.map((one) =>
    isCircuitOf(task, one) && one.comment !== notice?.comment ? { ...one, kind: 'stuck' as const, about: task } : one,
  );
  const notified = isNew ? [{ kind, about: task, ...notice }, ...asking] : asking;
  return {
    ...state,
    tasks: {
      ...state.tasks,
      [task]: {
        ...progress,
        startedTree: known.startedTree,
        doneCommit: null,
        approval: progress.approval ?? known.approval,
        answer: { lane, at },
      },
    },
    notified: notified.slice(-MAX_NOTIFICATIONS),
  };
}

/** Returns the stored comments that still wait for an answer, judged by the newest known answers. */
export function listUnansweredComments(
  stored: readonly Notification[],
  { notified, tasks }: Pick<LaneState, 'notified' | 'tasks'>,
): readonly Notification[] {
  const isHeld = ({ about, comment }: Notification): boolean =>
    notified.some((one) => one.about === about && one.comment === comment);
  // A comment that is newer than the answer belongs to another run, so it still waits.
  return stored.filter((one) => isHeld(one) || one.at >= (getProgress(tasks, one.about).answer?.at ?? 0));
}

/**
 * Returns true if a comment is about the circuit of the issue's own lane. A lane that takes the issue over treats such
 * a comment as one about the task, and may settle it.
 */
function isCircuitOf(task: TaskId, { kind, about }: Notification): boolean {
  return kind === 'circuit_open' && about === subjectOfLane(task);
}

/**
 * Returns the waiting issues after a run that brought its lane from one state to another: for each issue, the answer of
 * the lane that worked on it last.
 */
export function updateWaitingIssues(
  waiting: readonly WaitingIssue[],
  { before, after }: { readonly before: LaneState; readonly after: LaneState },
  now: number,
): readonly WaitingIssue[] {
  const ids = new Set([...waiting.map(({ task }) => task), ...Object.keys(after.tasks), ...openerOf(after)]);
  return [...ids].filter(isIssueTask).reduce(settled, waiting);

  function settled(all: readonly WaitingIssue[], id: TaskId): readonly WaitingIssue[] {
    // An answer means that another lane worked on it last and not this run, so nothing changes.
    if (getProgress(after.tasks, id).answer !== undefined) return all;
    const known = all.find(({ task }) => task === id);
    const others = all.filter(({ task }) => task !== id);
    const own = known?.lane === after.lane ? known : null;
    const [then, progress] = [waitingProgress(before, id), waitingProgress(after, id)];
    if (progress === null) {
      const earlier = getProgress(before.tasks, id);
      const workedOn = getProgress(after.tasks, id).attempts > earlier.attempts;
      const isOver = own !== null || (workedOn && earlier.answer !== undefined);
      return isOver && known !== undefined ? others : all;
    }
    const { attempts } = progress;
    const isKnown = own !== null && !own.isAsked && own.attempts === attempts;
    if (isKnown || (then !== null && isSameProgress(then, progress))) return all;
    return [...others, { lane: after.lane, task: id, at: now, attempts, isAsked: false }].slice(-MAX_WAITING);
  }
}

/**
 * Returns the progress of a task that does not continue by itself, or null if it does. A task that opened the circuit
 * waits for its probe.
 */
function waitingProgress(state: LaneState, id: TaskId): TaskProgress | null {
  const known = getProgress(state.tasks, id);
  if (known.answer !== undefined) return null;
  const progress = { ...known, startedTree: null, doneCommit: null, unproven: undefined };
  if (isStuck(progress)) return progress;
  return state.circuit.kind === 'open' && state.circuit.taskId === id && !isFinished(progress)
    ? setAside(progress, 'no_progress', state.circuit.openedAt)
    : null;
}

function openerOf({ circuit }: LaneState): readonly TaskId[] {
  return circuit.kind === 'open' && circuit.taskId !== null ? [circuit.taskId] : [];
}

/**
 * Returns the newest comment that asks a person about the issue; null if none, or if it is a queue comment
 * about several issues, because work on one issue must not hide requests about others.
 */
function noticeOf({ lane, notified, tasks }: LaneState, id: TaskId): LaneAnswer['notice'] {
  const kind = classifyNeed(getProgress(tasks, id));
  const newest =
    notified.findLast((one) => one.kind === kind && one.about === id) ??
    (kind === null || lane === id ? notified.findLast((one) => isCircuitOf(lane, one)) : undefined);
  const asksMore = notified.some(({ comment, about }) => comment === newest?.comment && about !== newest.about);
  return newest === undefined || newest.thread === null || newest.comment === null || (lane === QUEUE && asksMore)
    ? null
    : { thread: newest.thread, comment: newest.comment, at: newest.at };
}

function isSameProgress(a: TaskProgress, b: TaskProgress): boolean {
  const key = ({ state, reason, attempts, setAside: aside }: TaskProgress): string =>
    JSON.stringify([state, reason, attempts, aside?.times, aside?.at]);
  return key(a) === key(b);
}

/**
 * Returns the lanes whose pull requests need work, the least recently examined first. Unchanged pull requests are left
 * out, so that they cannot keep the queue from its tasks.
 */
export function listLanesNeedingWork(
  open: readonly WaitingPullRequest[],
  search: {
    readonly prefix: string;
    readonly looked: readonly ExaminedPullRequest[];
    readonly now: number;
    /** Number of the pull request whose base branch must be merged into it; null if none. */
    readonly toUpdate: number | null;
  },
): readonly LaneInNeed[] {
  const { prefix, looked, now, toUpdate } = search;
  const before = new Map(looked.map((one) => [one.lane, one]));
  const lookedAt = (lane: LaneId): number => before.get(lane)?.at ?? 0;
  return open
    .flatMap((pull) => {
      const need = needsWork(pull) ? 'work' : pull.number === toUpdate ? 'update' : null;
      return need === null ? [] : [{ lane: pull.branch.slice(prefix.length), need, seen: seenOf(pull, need) } as const];
    })
    .filter(({ lane, seen }) => {
      const last = before.get(lane);
      const isKnown = last?.seen === seen && Math.abs(now - last.at) < LOOK_AGAIN_MS;
      return isLaneId(lane) && !isKnown;
    })
    .toSorted((one, other) => lookedAt(one.lane) - lookedAt(other.lane));
}

function needsWork({ mergeable, checks }: Pick<WaitingPullRequest, 'mergeable' | 'checks'>): boolean {
  return mergeable === 'conflicting' || checks === 'failed';
}

function seenOf({ head, base, mergeable, checks }: WaitingPullRequest, need: LaneInNeed['need']): string {
  return [head, base, mergeable, need === 'work' ? checks : need].join(' ').slice(0, 200);
}
