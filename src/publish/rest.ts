import { mayNotify, planNotifications } from '../core/people/needs.ts';
import {
  aboutLane,
  MAX_NOTIFICATIONS_PER_DAY,
  withNotification,
  type Need,
  type Notification,
} from '../core/people/notifications.ts';
import { initialState, type LaneState } from '../core/lane/state.ts';
import { issueOfTask } from '../core/tasks/task.ts';
import { sentence } from '../core/text/sentence.ts';
import { textOf } from '../errors.ts';
import type { Intake } from '../handover/intake.ts';
import { documentOf } from '../handover/stored.ts';
import type { RestoredState } from '../ports/state.ts';
import type { PublishDeps } from './deps.ts';
import { approversOf, labellersOf, notifyOnce, tasksOfNeeds, threadOfLane } from './notifications.ts';
import { reportOfEnd } from './report-of.ts';

type EndIntake = Extract<Intake, { kind: 'end' }>;
/** The end of a run that knows its lane. */
type LaneEnd = EndIntake & {
  readonly lane: NonNullable<EndIntake['lane']>;
  readonly state: NonNullable<EndIntake['state']>;
};

/**
 * What the lane rests for is said once: by the run that began to wait, or by this one, where that one could not or nobody
 * worked. For as long as it writes, this run has the lane to itself: it remembers in the lane's state that people know.
 */
export async function notifyOfRest(deps: PublishDeps, intake: EndIntake): Promise<readonly string[]> {
  const { lane, state } = intake;
  if (lane === null || state === null || deps.config.notify.kind === 'none') return [];
  const needs = needsOfRest({ ...intake, lane, state }, deps.clock.now());
  if (needs.length === 0) return [];
  try {
    await notifyAlone(deps, { ...intake, lane, state }, needs);
    return [];
  } catch (error) {
    const warning = `Nobody could be notified: ${sentence(textOf(error))}`;
    deps.log.warning(warning);
    return [warning];
  }
}

/** What a person is needed for, and no notification is known of. */
function needsOfRest({ outcome, lane, state, tasks }: LaneEnd, now: number): readonly Need[] {
  if (outcome.reason === 'waiting_for_review')
    return withoutKnown([{ kind: 'waiting_for_review', about: aboutLane(lane.id) }], state.notified);
  if (outcome.kind !== 'blocked') return [];
  const end = { lane: lane.id, startedAt: now, before: state, after: state, tasks, outcome, pullRequest: null };
  return planNotifications(end).notify;
}

function withoutKnown(needs: readonly Need[], known: readonly Notification[]): readonly Need[] {
  return needs.filter((need) => !known.some(({ kind, about }) => kind === need.kind && about === need.about));
}

async function notifyAlone(deps: PublishDeps, intake: LaneEnd, wanted: readonly Need[]): Promise<void> {
  const { store, clock, log } = deps;
  const { id } = intake.lane;
  const claimed = await claimMemory(deps, intake);
  if (claimed.kind === 'busy') {
    log.info('notifications: another run is at work here, which leaves this to a later run');
    return;
  }
  try {
    const { memory } = claimed;
    const needs = withoutKnown(wanted, memory?.notified ?? []);
    const now = clock.now();
    if (needs.length === 0) return;
    if (!mayNotify((memory ?? intake.state).notifiedAt, now)) {
      log.info(
        `notifications: ${String(MAX_NOTIFICATIONS_PER_DAY)} in the last 24 hours, so this waits for a later run`,
      );
      return;
    }
    const written = await write(deps, intake, needs);
    if (memory !== null && written !== null)
      await remember(deps, memory, withNotification(memory, needs, { ...written, at: now }));
  } finally {
    if (claimed.memory !== null) await store.release(id);
  }
}

/** `memory`: the state that can remember it; null: none can, and the comment itself is found again by its first line. */
type Memory = { readonly kind: 'busy' } | { readonly kind: 'free'; readonly memory: LaneState | null };

async function claimMemory({ config, store, clock }: PublishDeps, { lane }: LaneEnd): Promise<Memory> {
  const none = { kind: 'free', memory: null } as const;
  if (config.stateStore === 'none' || config.stateStore === 'cache') return none;
  // What this run decided by has orders in it, and other lanes' usage: what is stored stays as it is.
  const restored = await store.restore(lane.id);
  const state = storedState(restored, lane, clock.now());
  if (state === null) return none;
  const claimed = await store.claim(lane.id);
  switch (claimed.kind) {
    case 'claimed':
      return { kind: 'free', memory: state };
    case 'leased':
    case 'changed':
      return { kind: 'busy' };
    default:
      return none;
  }
}

/** A state that was lost is not replaced: the next run that works makes up for it. */
function storedState(restored: RestoredState, { id, start }: LaneEnd['lane'], now: number): LaneState | null {
  if (restored.kind === 'found') return restored.state;
  return restored.kind === 'absent' && start.kind === 'fresh' ? initialState(id, now) : null;
}

/** Only a store that keeps runs apart remembers it; where it does not answer, the comment is there. */
async function remember(
  { store, redact, clock }: PublishDeps,
  { lane, sequence, transcript }: LaneState,
  state: LaneState,
): Promise<void> {
  const document = (newest: number): string =>
    documentOf({ ...state, sequence: newest, savedAt: clock.now() }, { transcript, redact });
  await store.advance(lane, { after: sequence, document });
}

/** Null: there is no place to write it. */
async function write(
  deps: PublishDeps,
  intake: LaneEnd,
  needs: readonly Need[],
): Promise<Pick<Notification, 'thread' | 'comment'> | null> {
  const { config, context, redact, clock } = deps;
  const { state, tasks } = intake;
  const now = clock.now();
  const thread = await threadOf(deps, intake, needs);
  if (thread === null) return null;
  const concerned = tasksOfNeeds(needs, tasks);
  const about = concerned.length > 0 ? concerned : tasks;
  const approvers = approversOf(state, about);
  const comment = await notifyOnce(deps, {
    needs,
    thread,
    report: reportOfEnd({ config, context, redact, now }, intake, now),
    change: state.change,
    lastTask: state.lastIteration?.taskId ?? null,
    askers: approvers.length > 0 ? approvers : await labellersOf(deps, about.map(issueOfTask)),
  });
  return { thread, comment };
}

/** On the issue of the one task that it is about, or on a pull request: the lane's own, or the one that has waited longest for people where too many do. */
async function threadOf(
  { forge, config }: PublishDeps,
  { lane, tasks, outcome }: LaneEnd,
  needs: readonly Need[],
): Promise<number | null> {
  const concerned = tasksOfNeeds(needs, tasks);
  const alone = concerned.length === 1 && concerned[0] !== undefined ? issueOfTask(concerned[0]) : null;
  if (alone !== null) return alone;
  if (outcome.reason === 'waiting_for_review' && lane.pullRequest === null) {
    const open = await forge.openPullRequests(config.branchPrefix);
    if (open.length > 0) return Math.min(...open);
  }
  return threadOfLane(lane.pullRequest, [...concerned, ...tasks]);
}
