import { countTrue } from '../lane/circuit.ts';
import { isOutOfRounds, withoutUnprovenAnswers } from '../feedback/unproven.ts';
import type { LaneState } from '../lane/state/state.ts';
import type { Outcome } from '../outcome.ts';
import type { LaneId, TaskId } from '../tasks/ids.ts';
import { getProgress } from '../tasks/queue.ts';
import { isFinished, isStuck, type QueuedTask, type TaskProgress } from '../tasks/task.ts';
import { DAY_MS } from '../countdown.ts';
import {
  subjectOfLane,
  EVERY_RUN,
  MAX_NOTIFICATIONS,
  MAX_NOTIFICATIONS_PER_DAY,
  type Need,
  type Notification,
  type NotificationKind,
} from './notifications.ts';

type NotifiedLane = Pick<LaneState, 'tasks' | 'feedback' | 'circuit' | 'notified' | 'signals' | 'redBase'>;

/** The end of a run on its lane. */
export interface LaneEnd {
  readonly lane: LaneId;
  readonly startedAt: number;
  /** State at the beginning of the run, after people's orders. */
  readonly before: NotifiedLane;
  readonly after: NotifiedLane;
  readonly tasks: readonly Pick<QueuedTask, 'id' | 'obstacle'>[];
  readonly outcome: Outcome;
  /** Number of the open pull request; null if none. */
  readonly pullRequest: number | null;
  /** True if the run added commits to its branch. */
  readonly addedWork: boolean;
  /** Tasks whose text changed after its approval. */
  readonly unapproved: readonly TaskId[];
  /** Maximum number of feedback rounds before a person is asked; 0 = no limit. */
  readonly maxRounds: number;
  /** True if GitHub failed while the checks were read. A pull request is not called ready until they are read. */
  readonly areChecksUnread?: boolean;
}

/** The reason why a notification is settled. */
export type Settlement =
  | 'done'
  | 'goes_on'
  | 'more_work'
  | 'held_up'
  | 'approved'
  | 'gone'
  | 'circuit_closed'
  | 'another_task'
  | 'works_again'
  | 'base_passes'
  | 'pull_request_over';

/** The needs that people are notified of, and the earlier notifications that are settled. */
export interface NotificationPlan {
  readonly notify: readonly Need[];
  readonly settle: readonly { readonly notification: Notification; readonly why: Settlement }[];
}

/** Plans the notifications of a run. People are notified once per task and reason until the notification is settled. */
export function planNotifications(end: LaneEnd): NotificationPlan {
  const { notified } = end.after;
  const settle = notified.flatMap((notification) => {
    const why = settlementOf(notification, end);
    return why === null ? [] : [{ notification, why }];
  });
  const open = notified.filter((notification) => !settle.some((one) => one.notification === notification));
  // A notification about used-up rounds also covers the result of the last round.
  const isOpen = (need: Need): boolean =>
    open.some(({ kind, about }) => about === need.about && (kind === need.kind || kind === 'feedback_rounds'));
  // The last round ended and its answer settled it within this run, so nobody needs to be notified.
  const isSettledNow = (need: Need): boolean =>
    settle.some(
      ({ notification: { kind, about }, why }) =>
        why === 'done' && kind === 'feedback_rounds' && need.kind === kind && need.about === about,
    );
  const notify = needsOf(end).filter((need) => !isOpen(need) && !isSettledNow(need));
  return { notify: withinMemory(notify, end), settle };
}

/**
 * Keeps the needs that fit in the memory; a need that is not remembered would notify people again. Needs of tasks wait
 * until earlier notifications are settled.
 */
function withinMemory(needs: readonly Need[], { lane, after: { notified } }: LaneEnd): readonly Need[] {
  const isOfLane = ({ about }: Need): boolean => about === subjectOfLane(lane) || about === EVERY_RUN;
  const room = Math.max(0, MAX_NOTIFICATIONS - ROOM_OF_LANE - notified.length);
  const fits = needs.filter((need) => !isOfLane(need)).slice(0, room);
  return needs.filter((need) => isOfLane(need) || fits.includes(need));
}

/** Number of notifications reserved for needs of the lane and issues that wait for approval. */
const ROOM_OF_LANE = 20;

/** The end of a run that made no agent call. */
export type LaneAtRest = Pick<LaneEnd, 'lane' | 'tasks' | 'outcome' | 'maxRounds'> & { readonly state: NotifiedLane };

/** Returns the needs of a lane at rest, without those that people were already notified of. */
export function listNeedsAtRest({ lane, state, tasks, outcome, maxRounds }: LaneAtRest, now: number): readonly Need[] {
  if (!['blocked', 'halted', 'parked'].includes(outcome.kind)) return [];
  const end = { lane, startedAt: now, before: state, after: state, tasks, outcome, maxRounds, pullRequest: null };
  return planNotifications({ ...end, unapproved: [], addedWork: false }).notify;
}

/** Returns the needs that this run's outcome shows to be resolved, regardless of the lane on which they arose. */
export function listResolvedNeeds({ lane, outcome }: Pick<LaneEnd, 'lane' | 'outcome'>): readonly Need[] {
  const configuration: Need = { kind: 'configuration', about: EVERY_RUN };
  const waiting: Need = { kind: 'waiting_for_review', about: subjectOfLane(lane) };
  const halted: Need = { kind: 'halted', about: subjectOfLane(lane) };
  return [
    ...(outcome.kind === 'failed' ? [] : [configuration]),
    ...(outcome.reason === 'waiting_for_review' ? [] : [waiting]),
    ...(outcome.kind === 'complete' ? [halted] : []),
  ];
}

/** Returns true if people were notified that the lane's pull request is ready with its current content. */
export function isKnownReady({ lane, notified }: Pick<LaneState, 'lane' | 'notified'>): boolean {
  return notified.some(({ kind, about }) => kind === 'ready' && about === subjectOfLane(lane));
}

/**
 * Returns true if one more notifying comment may be written now. `given` lists the instants of earlier ones, which may
 * be in the future if the clock was turned back.
 */
export function mayNotify(given: readonly number[], now: number): boolean {
  return given.filter((at) => Math.abs(now - at) < DAY_MS).length < MAX_NOTIFICATIONS_PER_DAY;
}

function needsOf(end: LaneEnd): readonly Need[] {
  const { lane, after, tasks, outcome, pullRequest, unapproved } = end;
  const ended = endedRounds(end);
  const begun = tasks.flatMap(({ id, obstacle }): readonly Need[] => {
    const kind = obstacle === null && !ended.includes(id) ? classifyNeed(getProgress(after.tasks, id)) : null;
    return kind === null ? [] : [{ kind, about: id }];
  });
  const inVain = ended.map((about): Need => ({ kind: 'feedback_rounds', about }));
  const ofTasks: Need[] = [
    ...begun,
    ...inVain,
    ...unapproved.map((about): Need => ({ kind: 'needs_approval', about })),
  ];
  const known = laneKindOf(outcome, pullRequest, after);
  const ofLane = known === 'ready' && end.areChecksUnread === true ? null : known;
  if (pullRequest !== null && hasLostAutoMerge(after))
    ofTasks.push({ kind: 'auto_merge_off', about: subjectOfLane(lane) });
  if (ofLane === null) return ofTasks;
  return [...ofTasks, { kind: ofLane, about: ofLane === 'configuration' ? EVERY_RUN : subjectOfLane(lane) }];
}

/** Returns true if a person must enable auto-merge again for the pull request to merge on its own. */
function hasLostAutoMerge({ feedback: { overtaken } }: NotifiedLane): boolean {
  return overtaken !== null && (overtaken.autoMerge || overtaken.queued);
}

/** Returns the feedback tasks whose last round ended in this run, with any result. */
function endedRounds({ before, after, maxRounds }: LaneEnd): readonly TaskId[] {
  const earlier = outOfRoundsTasks(before, maxRounds);
  return outOfRoundsTasks(after, maxRounds).filter((id) => !earlier.includes(id));
}

/** Returns the feedback tasks whose last round has ended. */
function outOfRoundsTasks(standing: NotifiedLane, maxRounds: number): readonly TaskId[] {
  return Object.entries(withoutUnprovenAnswers(standing).items).flatMap(([id, item]) =>
    isOutOfRounds(item, maxRounds) && (item.answer !== null || isStuck(getProgress(standing.tasks, id))) ? [id] : [],
  );
}

/** Reasons of blocked tasks that have a kind of notification of their own. */
const OWN_NOTIFICATIONS: readonly string[] = ['nothing_to_do', 'feedback_rounds', 'withheld', 'push_refused'];

/** Returns the kind of need for a task's progress; null if no person is needed. */
export function classifyNeed({ state, reason }: Pick<TaskProgress, 'state' | 'reason'>): NotificationKind | null {
  if (state === 'blocked')
    return reason !== null && OWN_NOTIFICATIONS.includes(reason) ? (reason as NotificationKind) : state;
  return state === 'failed' || state === 'stuck' ? state : null;
}

function laneKindOf(
  outcome: Outcome,
  pullRequest: number | null,
  { circuit }: Pick<NotifiedLane, 'circuit'>,
): NotificationKind | null {
  switch (outcome.kind) {
    case 'complete':
      return pullRequest === null ? null : 'ready';
    case 'halted':
      // This includes a circuit that tripped earlier, when nobody could be notified.
      return outcome.reason === 'circuit_open' ? outcome.reason : outcome.kind;
    case 'failed':
      // Repeated failures have opened the circuit, so people are notified: runs pay for calls whose work is lost.
      return outcome.reason === 'configuration' ? 'configuration' : circuit.kind === 'open' ? 'circuit_open' : null;
    case 'idle':
      return outcome.reason === 'waiting_for_review' ? outcome.reason : null;
    case 'blocked':
      return outcome.reason === 'base_is_red' ? outcome.reason : null;
    case 'parked':
      return outcome.reason === 'usage_limit' && outcome.needsPerson !== undefined ? outcome.reason : null;
    default:
      return null;
  }
}

/** Returns why a notification is settled; null if a person is still needed. */
function settlementOf(notification: Notification, end: LaneEnd): Settlement | null {
  const { kind, about, thread, at, comment } = notification;
  const { startedAt, before, after, tasks, outcome, pullRequest, addedWork } = end;
  switch (kind) {
    case 'circuit_open':
      if (after.circuit.kind !== 'open') return 'circuit_closed';
      return at < startedAt && opensOnAnother(end) ? 'another_task' : null;
    case 'configuration':
      return outcome.kind === 'failed' ? null : 'works_again';
    case 'halted':
      return hasRecovered(end) ? 'works_again' : null;
    case 'base_is_red':
      return after.redBase === null ? 'base_passes' : null;
    case 'usage_limit':
      return ['failed', 'cancelled', 'parked', 'paused'].includes(outcome.kind) ? null : 'works_again';
    case 'ready':
      if (pullRequest !== thread) return 'pull_request_over';
      if (isHeldUpSince(at, end)) return 'held_up';
      // Work was added after the pull request was ready. The notification must be older than this run, because post may
      // finish a run that has already notified people.
      return addedWork && before.notified.some((one) => one.comment === comment) ? 'more_work' : null;
    case 'auto_merge_off':
      if (pullRequest !== thread) return 'pull_request_over';
      // Auto-merge was enabled again and then disabled once more, so the earlier notification is obsolete.
      if (at < (after.feedback.overtaken?.at ?? 0)) return 'more_work';
      return hasLostAutoMerge(after) ? null : 'works_again';
    case 'waiting_for_review':
      return laneKindOf(outcome, pullRequest, after) === kind ? null : 'works_again';
    case 'needs_approval': {
      const task = tasks.find(({ id }) => id === about);
      if (task === undefined) return 'gone';
      return task.obstacle === 'needs-approval' || task.obstacle === 'unchecked' ? null : 'approved';
    }
    case 'feedback_rounds': {
      const { items } = withoutUnprovenAnswers(after);
      const item = Object.hasOwn(items, about) ? items[about] : undefined;
      if (item === undefined) return 'gone';
      // The answer still needs a person, even if a person's push has reset the rounds.
      if (item.answer?.kind === 'given-up') return null;
      if (!isOutOfRounds(item, end.maxRounds)) return 'goes_on';
      // The answer stands, because nobody has repeated the request since.
      return item.answer !== null && at < startedAt ? 'done' : null;
    }
    default: {
      if (!tasks.some(({ id }) => id === about)) return 'gone';
      const [then, now] = [getProgress(before.tasks, about), getProgress(after.tasks, about)];
      if (isFinished(now)) return 'done';
      // A retry is a person's answer and settles the notification, even if the retry fails. A notification of this run
      // stays open, because post may finish a run that has already notified people.
      return (at >= startedAt || isStillNeeded(kind, then)) && isStillNeeded(kind, now) ? null : 'goes_on';
    }
  }
}

/** Returns true if an answer since `then` shows that the pull request is not ready to be merged. */
function isHeldUpSince(then: number, { after }: LaneEnd): boolean {
  return Object.values(withoutUnprovenAnswers(after).items).some(
    ({ kind, answer }) =>
      answer !== null &&
      answer.at > then &&
      (answer.kind === 'given-up' || (kind === 'check' && answer.kind === 'unchanged')),
  );
}

/**
 * Returns true if an open circuit now stays open because of another task, while the task that tripped it has left the
 * lane.
 */
function opensOnAnother({ before, after, tasks }: LaneEnd): boolean {
  if (before.circuit.kind !== 'open' || after.circuit.kind !== 'open') return false;
  const { taskId } = before.circuit;
  return taskId !== null && taskId !== after.circuit.taskId && !tasks.some(({ id }) => id === taskId);
}

/** Returns true if a run shows that the cause of an earlier halt is gone. A run that was cut off shows nothing. */
function hasRecovered({ after: { signals }, outcome }: LaneEnd): boolean {
  const showsIt = !['halted', 'failed', 'cancelled', 'parked', 'paused'].includes(outcome.kind);
  return showsIt && signals.testOnlyInARow === 0 && countTrue(signals.vetoed) === 0;
}

/** Returns true if a need still exists. A stuck task that gets another turn stays stuck until it makes progress. */
function isStillNeeded(kind: NotificationKind, progress: TaskProgress): boolean {
  const isUndecided = progress.state === 'todo' || progress.state === 'in-progress';
  return classifyNeed(progress) === kind || (kind === 'stuck' && isUndecided && progress.setAside !== null);
}
