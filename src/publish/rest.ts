import { mayNotify, listNeedsAtRest } from '../core/people/needs.ts';
import {
  subjectOfLane,
  MAX_NOTIFICATIONS_PER_DAY,
  type Need,
  type Notification,
  notifiesAnybody,
  selectMentions,
  withNotification,
} from '../core/people/notifications.ts';
import type { ApprovalNotice } from '../core/people/consent.ts';
import { noChange } from '../core/lane/change.ts';
import { createLease } from '../config/config.ts';
import { advanceInSnapshot, claimInSnapshot, releaseInSnapshot, settleSnapshot } from '../core/snapshot/changes.ts';
import { emptySnapshot, type Snapshot } from '../core/snapshot/snapshot.ts';
import { listUnansweredComments } from '../core/sharing/waiting-issues.ts';
import { createInitialState, type LaneState } from '../core/lane/state/state.ts';
import { toIssueLane, issueOfId, QUEUE, taskIdOfIssue, type LaneId } from '../core/tasks/ids.ts';
import { issueOfTask } from '../core/tasks/task.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { getErrorText } from '../errors.ts';
import { serializeLaneState, type EndIntake } from '../handover/intake.ts';
import type { RestoredStore } from '../ports/state.ts';
import { isLiveStatus, renderAnswer, STATUS_MARKER } from '../report/pages/status-comment.ts';
import type { PublishDeps } from './deps.ts';
import { MAX_NOTICES, NO_THREAD, warnOfNobodyMentioned, notifyOnce, selectNotices } from './notifications.ts';
import {
  listApprovers,
  issueOfNeeds,
  findLabellers,
  listTaskReviewers,
  tasksOfNeeds,
  threadOfLane,
} from './recipients.ts';
import { buildLaneView, reportOfEnd } from './report-of.ts';

/** Maximum number of issues whose status comment a run corrects. */
const MAX_CORRECTED = 5;

/** The result of the gate's notifications. `notified` contains the notices that people can read now. */
interface NotifiedAtGate {
  readonly notified: readonly ApprovalNotice[];
  readonly warnings: readonly string[];
}

/**
 * Notifies people once of what the lane waits for and of issues that wait for approval, if the run that began to wait
 * did not do so. Claims the lane while it writes, and records in the lane's state that people were notified.
 */
export async function notifyAtGate(deps: PublishDeps, intake: EndIntake): Promise<NotifiedAtGate> {
  const { answer, notes, state } = intake;
  const answered = notes.notices.filter(({ issue }) => issue === answer?.thread);
  const notices = notes.notices.filter(({ issue }) => issue !== answer?.thread).slice(0, MAX_NOTICES);
  const wanted = [
    ...needsOfRest(deps, intake),
    ...notices.map(({ issue }): Need => ({ kind: 'needs_approval', about: taskIdOfIssue(issue) })),
  ];
  const known = state?.notified ?? [];
  const isOpen = withoutKnown(wanted, known).length > 0 && notifiesAnybody(deps.config);
  const warnings: string[] = [];
  const warn = (text: string): void => {
    warnings.push(text);
    deps.log.warning(text);
  };
  let all: readonly Need[] = known;
  try {
    if (isOpen) all = await notifyAlone(deps, intake, { wanted, warn });
  } catch (error) {
    warn(`Nobody could be notified: ${completeSentence(getErrorText(error))}`);
  }
  return { notified: [...answered, ...selectNotices(deps, notices, all)], warnings };
}

function needsOfRest({ config, clock }: PublishDeps, { outcome, lane, state, tasks }: EndIntake): readonly Need[] {
  if (lane === null || state === null) return [];
  if (outcome.reason === 'waiting_for_review') return [{ kind: 'waiting_for_review', about: subjectOfLane(lane.id) }];
  return listNeedsAtRest({ lane: lane.id, state, tasks, outcome, maxRounds: config.answers.maxRounds }, clock.now());
}

function withoutKnown(needs: readonly Need[], known: readonly Need[]): readonly Need[] {
  return needs.filter((need) => !known.some(({ kind, about }) => kind === need.kind && about === need.about));
}

/** Notifies people unless another run works on the lane. Returns all needs of which people have been notified. */
async function notifyAlone(
  deps: PublishDeps,
  intake: EndIntake,
  { wanted, warn }: { readonly wanted: readonly Need[]; readonly warn: (text: string) => void },
): Promise<readonly Need[]> {
  const { clock, log } = deps;
  const claimed = await claimMemory(deps, intake, wanted);
  const before = intake.state?.notified ?? [];
  if (claimed.kind === 'busy') {
    log.info('notifications: another run is at work here, so this waits for a later run');
    return before;
  }
  const { state } = intake;
  const stored = claimed.memory;
  const memory =
    stored === null || state === null
      ? stored
      : { ...stored, notified: listUnansweredComments(stored.notified, state) };
  try {
    const known = memory?.notified ?? before;
    const needs = withoutKnown(wanted, known);
    const now = clock.now();
    if (needs.length === 0) return known;
    if (!mayNotify((memory ?? intake.state)?.notifiedAt ?? [], now)) {
      log.info(
        `notifications: ${String(MAX_NOTIFICATIONS_PER_DAY)} in the last 24 hours, so this waits for a later run`,
      );
      return known;
    }
    const written = await write(deps, intake, { needs, isRemembered: memory !== null, warn });
    if (written === null) return known;
    if (memory !== null) {
      const after = withNotification(memory, needs, { ...written, at: now });
      // Record the need as settled, so that no later run returns to an issue's own lane for it.
      const run = { before: memory, after, isPublished: true };
      const isOfRest = needs.some(({ kind }) => kind !== 'needs_approval');
      const isSettled = isOfRest && (intake.lane?.id ?? QUEUE) !== QUEUE;
      await remember(deps, memory, {
        state: after,
        settle: (snapshot) => (isSettled ? settleSnapshot(snapshot, run, { runTag: deps.runTag, now }) : snapshot),
      });
      if (isOfRest) await correctLiveStatus(deps, intake, needs);
    }
    return [...known, ...needs];
  } finally {
    if (memory !== null) await releaseLaneClaim(deps, memory.lane);
  }
}

/** Corrects a status comment that still says that an earlier run is at work, after that run failed to notify people. */
async function correctLiveStatus(deps: PublishDeps, intake: EndIntake, needs: readonly Need[]): Promise<void> {
  const { config, context, forge, redact, clock } = deps;
  const now = clock.now();
  const report = reportOfEnd({ config, context, redact, now }, intake, now);
  const view = buildLaneView(intake, { config, context, now });
  const status = renderAnswer({ kind: 'status', receipt: null }, report, { view, notice: null, forecast: null });
  const body = redact(`${STATUS_MARKER}\n\n${status}`);
  const last = intake.state?.lastIteration?.taskId ?? '';
  const issues = [...needs.map(({ about }) => about), last].map(issueOfId).filter((issue) => issue !== null);
  for (const issue of new Set(issues.slice(0, MAX_CORRECTED)))
    await forge.upsertComment(issue, STATUS_MARKER, (before) =>
      before === null || isLiveStatus(before) ? body : before,
    );
}

/**
 * The claim on the lane whose state remembers the notification. `memory` is that state, or null if no state can
 * remember it; the comment is then recognized by its first line instead.
 */
type Memory = { readonly kind: 'busy' } | { readonly kind: 'free'; readonly memory: LaneState | null };

async function claimMemory(deps: PublishDeps, { lane }: EndIntake, wanted: readonly Need[]): Promise<Memory> {
  const { config, store, clock } = deps;
  const none = { kind: 'free', memory: null } as const;
  if (config.stateStore === 'none' || config.stateStore === 'cache') return none;
  const own = issueOfNeeds(wanted);
  // An event about one issue is remembered by the issue's own lane, or otherwise by the queue.
  const ids = lane !== null ? [lane.id] : own === null ? [QUEUE] : [toIssueLane(own), QUEUE];
  for (const id of ids) {
    // Read the state again, because the one by which this run decided contains orders and other lanes' usage.
    const restored = await store.restore(id);
    const state = storedState(restored.lane, { id, isNew: lane?.start.kind === 'fresh' }, clock.now());
    if (state !== null) return claimState(deps, state, restored);
  }
  return none;
}

async function claimState(deps: PublishDeps, state: LaneState, { snapshot }: RestoredStore): Promise<Memory> {
  const now = deps.clock.now();
  const { lane } = state;
  const seen = snapshot ?? emptySnapshot;
  const asking = {
    lease: createLease(deps, now),
    now,
    named: [],
    purpose: 'notice' as const,
    reserve: <Same>(same: Same): Same => same,
  };
  const claimed = await deps.store.update(claimInSnapshot({ lane, seen, ...asking }));
  if (claimed.kind !== 'updated') return { kind: 'free', memory: null };
  return claimed.answer.kind === 'claimed' ? { kind: 'free', memory: state } : { kind: 'busy' };
}

async function releaseLaneClaim({ store, clock, ...run }: PublishDeps, lane: LaneId): Promise<void> {
  const now = clock.now();
  await store.update(releaseInSnapshot(lane, { holder: createLease(run, now), isUnused: false, now }));
}

/** Returns the stored state, or null if it was lost; the next run that works begins a new one. */
function storedState(
  restored: RestoredStore['lane'],
  { id, isNew }: { readonly id: LaneId; readonly isNew: boolean },
  now: number,
): LaneState | null {
  if (restored.kind === 'found') return restored.state;
  return restored.kind === 'absent' && isNew ? createInitialState(id, now) : null;
}

/**
 * Remembers the notification, which requires a store that keeps runs apart. If the store does not answer, the comment
 * remains.
 */
async function remember(
  { store, redact, clock, ...run }: PublishDeps,
  { lane, sequence, transcript }: LaneState,
  { state, settle }: { readonly state: LaneState; readonly settle: (snapshot: Snapshot) => Snapshot },
): Promise<void> {
  const now = clock.now();
  const document = (newest: number): string =>
    serializeLaneState({ ...state, sequence: newest, savedAt: now }, { transcript, redact });
  const advanced = advanceInSnapshot({ lane, after: sequence, document, holder: createLease(run, now) });
  await store.update((snapshot) => {
    const kept = advanced(snapshot);
    return { ...kept, snapshot: settle(kept.snapshot) };
  });
}

/** Writes the notification; returns null if there is no place for it, or GitHub refused it. */
async function write(
  deps: PublishDeps,
  intake: EndIntake,
  notification: {
    readonly needs: readonly Need[];
    readonly isRemembered: boolean;
    readonly warn: (text: string) => void;
  },
): Promise<Pick<Notification, 'thread' | 'comment'> | null> {
  const { needs, isRemembered, warn } = notification;
  const { config, context, redact, clock } = deps;
  const { state, tasks, notes } = intake;
  const now = clock.now();
  const thread = await threadOf(deps, intake, needs);
  const isCommented = thread !== null && config.notify.kind !== 'none';
  // Do not send the message without a comment or a state, because each run would send it again.
  if (!isCommented && (config.webhook.address === null || !isRemembered)) {
    if (thread === null) warn(NO_THREAD);
    return null;
  }
  const concerned = tasksOfNeeds(needs, tasks);
  const about = concerned.length > 0 ? concerned : tasks;
  const unapproved = notes.notices.filter(({ issue }) =>
    needs.some(({ kind, about: id }) => kind === 'needs_approval' && issueOfId(id) === issue),
  );
  const approvers = [...(state === null ? [] : listApprovers(state, about)), ...unapproved.map(({ by }) => by)];
  const askers = [
    ...listTaskReviewers(concerned),
    ...(approvers.length > 0 ? approvers : await findLabellers(deps, about.map(issueOfTask))),
  ];
  if (isCommented && selectMentions(config.notify, askers).length === 0) warn(warnOfNobodyMentioned(thread));
  const written = await notifyOnce(deps, {
    needs,
    thread,
    report: reportOfEnd({ config, context, redact, now }, intake, now),
    change: state?.change ?? noChange,
    lastTask: state?.lastIteration?.taskId ?? null,
    notices: unapproved,
    ...{ isRemembered, askers, warn },
  });
  if (written.kind === 'granted') return { thread, comment: written.value.id };
  warn(`Nobody could be notified: ${written.why}`);
  return null;
}

/**
 * Returns the issue of the only task that the needs are about, or a pull request: the lane's own, or the one that has
 * waited longest if too many are open.
 */
async function threadOf(
  { forge, config }: PublishDeps,
  { lane, tasks, outcome }: EndIntake,
  needs: readonly Need[],
): Promise<number | null> {
  const alone = issueOfNeeds(needs);
  if (alone !== null) return alone;
  if (outcome.reason === 'waiting_for_review' && lane?.pullRequest === null) {
    const open = await forge.openPullRequests(config.branchPrefix);
    if (open.length > 0) return Math.min(...open);
  }
  const [issue] = needs.map(({ about }) => issueOfId(about)).filter((number) => number !== null);
  return threadOfLane(lane?.pullRequest ?? null, tasksOfNeeds(needs, tasks)) ?? issue ?? threadOfLane(null, tasks);
}
