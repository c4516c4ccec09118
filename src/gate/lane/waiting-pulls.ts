import { listNeedsAtRest } from '../../core/people/needs.ts';
import { subjectOfLane, notifiesAnybody } from '../../core/people/notifications.ts';
import { mayServeOtherLanes } from '../../core/sharing/elsewhere.ts';
import { type LaneInNeed, listLanesNeedingWork } from '../../core/sharing/waiting-issues.ts';
import { withNothingToDo } from '../../core/snapshot/going-on.ts';
import { listExaminedPulls, withLane } from '../../core/snapshot/snapshot.ts';
import { toIssueLane, issueOfId, type LaneId, nameOfLane, QUEUE } from '../../core/tasks/ids.ts';
import { findPullToUpdate, type Train } from '../../core/train/train.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { asError, UserError } from '../../errors.ts';
import type { Intake, EndIntake } from '../../handover/intake.ts';
import type { Issue } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import { isTaskIssue } from '../tasks/queued-issues.ts';
import { createOwnRequest, TASKS_PURPOSE, type RunPurpose, type WorkRequest } from '../tasks/sources.ts';
import type { EndWithoutCall } from './decide.ts';
import { examineTrain, type ExaminedTrain } from './train.ts';

/** Maximum number of lanes examined in one run: each takes a few requests. */
export const MAX_EXAMINED_LANES = 3;

/** The result of examining the open pull requests that wait for people. */
export interface ExaminedWaiting {
  /** The work on one of these pull requests, or null if this run can do nothing for any of them. */
  readonly work: Intake | null;
  /** The end for a pull request that needs a person who was not notified, or null if there is no such pull request. */
  readonly unnotified: EndIntake | null;
  /** The error, other than a temporary one, for a pull request that cannot be worked on; null if none. */
  readonly problem: Error | null;
  readonly train: Train | null;
  /** True if the queue's own pull request must contain the newest base, in a run that decides on the queue anyway. */
  readonly updatesQueue: boolean;
  readonly warnings: readonly string[];
}

export const NOTHING_EXAMINED: ExaminedWaiting = {
  work: null,
  unnotified: null,
  problem: null,
  train: null,
  updatesQueue: false,
  warnings: [],
};

interface Queue {
  readonly issues: readonly Issue[];
  /**
   * Returns the request with which the queue would answer its own pull request; null if this run decides on the queue
   * anyway.
   */
  readonly request: () => Promise<WorkRequest | null>;
  readonly admit: (deps: GateDeps, request: WorkRequest) => Promise<Intake>;
}

/**
 * Takes up the first of the open pull requests that conflicts, has failed checks, or is next and must contain the
 * newest base.
 */
export async function examineWaiting(deps: GateDeps, queue: Queue): Promise<ExaminedWaiting> {
  const examined = await examineTrain(deps);
  const { train } = examined;
  const warnings = [...examined.warnings];
  const inNeed = deps.config.answers.checks ? await lanesToExamine(deps, examined) : [];
  let unnotified: EndIntake | null = null;
  let problem: Error | null = null;
  for (const one of inNeed.slice(0, MAX_EXAMINED_LANES)) {
    let rests = false;
    try {
      const request = await requestFor(deps, one, queue);
      const own = request === null ? null : await queue.admit(deps, request);
      if (own?.kind === 'work') {
        deps.log.info(`The pull request of ${nameOfLane(one.lane)} comes first: ${NEED_TEXTS[one.need]}.`);
        // Record this, so that, if this run achieves nothing, the next runs work on the queue for some hours. If this
        // run dies, the next one resumes this lane anyway.
        await rememberExamined(deps, one);
        const notes = { ...own.notes, train, warnings: [...own.notes.warnings, ...warnings] };
        return { ...NOTHING_EXAMINED, work: { ...own, notes } };
      }
      if (own === null) rests = one.lane !== QUEUE;
      else if (needsUnnotifiedPerson(deps, own)) unnotified ??= own;
      else rests = ['idle', 'blocked', 'paused'].includes(own.outcome.kind);
      if (rests) await rememberExamined(deps, one);
    } catch (error) {
      const { message } = asError(error);
      warnings.push(
        `The pull request of ${nameOfLane(one.lane)} needs work and was not worked on: ${completeSentence(message)}`,
      );
      if (!(error instanceof UserError && error.kind === 'infrastructure')) problem ??= asError(error);
    }
    // The next run examines this lane again, behind the others.
    if (!rests && inNeed.length > MAX_EXAMINED_LANES)
      await rememberExamined(deps, { ...one, seen: '' }).catch(() => null);
  }
  const updatesQueue = inNeed.some(({ lane, need }) => lane === QUEUE && need === 'update');
  return { work: null, unnotified, problem, train, updatesQueue, warnings };
}

const NEED_TEXTS: Readonly<Record<LaneInNeed['need'], string>> = {
  work: 'it conflicts, or a check fails',
  update: 'it is the next to merge, and a rule requires it to be up to date with its base branch',
};

async function lanesToExamine(
  { store, clock, config }: GateDeps,
  { open, train }: ExaminedTrain,
): Promise<readonly LaneInNeed[]> {
  const at = {
    ...{ prefix: config.branchPrefix, now: clock.now() },
    toUpdate: train === null ? null : findPullToUpdate(train),
  };
  if (listLanesNeedingWork(open, { ...at, looked: [] }).length === 0) return [];
  const known = await store.read();
  return listLanesNeedingWork(open, {
    ...at,
    looked: known.kind === 'snapshot' ? listExaminedPulls(known.snapshot) : [],
  });
}

/**
 * Returns the request for a lane that needs work, or null if the run decides on the queue anyway or the issue is gone.
 */
async function requestFor(deps: GateDeps, { lane, need }: LaneInNeed, queue: Queue): Promise<WorkRequest | null> {
  const update = need === 'update';
  if (lane === QUEUE) {
    const request = await queue.request();
    return request === null ? null : { ...request, update };
  }
  const number = issueOfId(lane);
  if (number === null) return null;
  const listed = queue.issues.find((one) => one.number === number);
  const issue = listed ?? (await deps.forge.issue(number));
  if (issue === null) return null;
  const isTask = issue.state === 'open' && (listed !== undefined || (await isTaskIssue(deps, issue)));
  const purpose: RunPurpose = { kind: 'answers', failedOn: null, of: isTask ? 'waiting' : 'waiting-finished' };
  return { ...createOwnRequest(issue, purpose), update };
}

async function rememberExamined({ store, context, clock }: GateDeps, { lane, seen }: LaneInNeed): Promise<void> {
  const looked = { seen, at: clock.now() };
  const message = `${nameOfLane(lane)}: run ${context.runId} examined its pull request`;
  await store.update((newest) => ({
    snapshot: withLane(newest, lane, (record) => ({ ...record, looked })),
    message,
    answer: null,
  }));
}

/**
 * If the queue has nothing to do, continues an issue's own lane that reached a limit or was parked, or notifies people
 * of a resting one if an earlier run could not. Returns null if there is no such lane.
 */
export async function continueIssueLane(
  deps: GateDeps,
  { intake, continuable }: Pick<EndWithoutCall, 'intake' | 'continuable'>,
  admit: (deps: GateDeps, request: WorkRequest) => Promise<Intake>,
): Promise<Intake | null> {
  let unnotified: Intake | null = null;
  const resting: LaneId[] = [];
  for (const issue of mayServeOtherLanes(intake.outcome) ? continuable.slice(0, MAX_EXAMINED_LANES) : []) {
    const own = await admit(deps, createOwnRequest(issue, TASKS_PURPOSE));
    if (own.kind === 'work') return own;
    if (unnotified === null && needsUnnotifiedPerson(deps, own)) unnotified = own;
    else if (own.outcome.reason === 'all_done') resting.push(toIssueLane(issue.number));
  }
  await rememberResting(deps, resting);
  return unnotified;
}

/** Records that lanes have nothing to do, so that runs ignore them until somebody makes a request. */
export async function rememberResting(
  { store, context }: Pick<GateDeps, 'store' | 'context'>,
  resting: readonly LaneId[],
): Promise<void> {
  if (resting.length === 0) return;
  const message = `${resting.map(nameOfLane).join(', ')}: nothing to do, says run ${context.runId}`;
  await store.update((newest) => ({ snapshot: withNothingToDo(newest, resting), message, answer: null }));
}

/** Returns true if the lane needs a person who was not notified. */
export function needsUnnotifiedPerson(
  { config, clock }: GateDeps,
  { lane, state, tasks, outcome, notes }: EndWithoutCall['intake'],
): boolean {
  if (!notifiesAnybody(config) || lane === null || state === null) return false;
  const isWaiting = outcome.reason === 'waiting_for_review' && notes.held !== null;
  const about = subjectOfLane(lane.id);
  if (isWaiting) return !state.notified.some((one) => one.kind === outcome.reason && one.about === about);
  const { maxRounds } = config.answers;
  return listNeedsAtRest({ lane: lane.id, state, tasks, outcome, maxRounds }, clock.now()).length > 0;
}
