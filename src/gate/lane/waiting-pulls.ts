import type { WaitingPullRequest } from '../../core/feedback/pull-request-now.ts';
import { hasLabel } from '../../core/people/labels.ts';
import { needsAtRest } from '../../core/people/needs.ts';
import { aboutLane } from '../../core/people/notifications.ts';
import { mayServeOtherLanes } from '../../core/sharing/elsewhere.ts';
import { type LaneInNeed, lanesInNeed } from '../../core/sharing/waiting-issues.ts';
import { withNothingToDo } from '../../core/snapshot/going-on.ts';
import { examinedIn, withLane } from '../../core/snapshot/snapshot.ts';
import { issueLane, issueOfId, type LaneId, nameOfLane, QUEUE } from '../../core/tasks/ids.ts';
import { sentence } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import type { Intake } from '../../handover/intake.ts';
import type { Issue } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import { requestByItself, FOR_TASKS, type Purpose, type Request } from '../tasks/sources.ts';
import type { Ended } from './decide.ts';

type EndIntake = Extract<Intake, { kind: 'end' }>;

/** Maximum number of lanes examined in one run: each takes a few requests. */
const MAX_LANES = 3;

/** The result of examining the open pull requests that wait for people. */
export interface ExaminedWaiting {
  /** Work on one of them; null if none needs any that this run can do. */
  readonly work: Intake | null;
  /** The end for a pull request that needs a person who was not notified; null if there is none. */
  readonly unnotified: EndIntake | null;
  /** The error for a pull request that needs work but cannot be worked on; null if there is none. */
  readonly problem: UserError | null;
  readonly warnings: readonly string[];
}

export const nothingExamined: ExaminedWaiting = { work: null, unnotified: null, problem: null, warnings: [] };

interface Queue {
  readonly issues: readonly Issue[];
  /** The request with which the queue would answer its own pull request; null if this run decides on the queue anyway. */
  readonly request: Request | null;
  readonly admit: (deps: GateDeps, request: Request) => Promise<Intake>;
}

/**
 * Examines all open pull requests of Ralph's branches, also those of finished issues, with one request, and takes up
 * the first that conflicts or whose checks fail. An unreadable list is a warning.
 */
export async function examineWaiting(deps: GateDeps, queue: Queue): Promise<ExaminedWaiting> {
  if (!deps.config.answers.checks) return nothingExamined;
  let open: readonly WaitingPullRequest[];
  try {
    open = await listTwice(deps);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const why = `The open pull requests could not be read: ${sentence(error.message)}`;
    return { ...nothingExamined, warnings: [why] };
  }
  const inNeed = await lanesToExamine(deps, open);
  let unnotified: EndIntake | null = null;
  let problem: UserError | null = null;
  for (const one of inNeed.slice(0, MAX_LANES)) {
    const request = await requestFor(deps, one, queue);
    if (request === null) continue;
    try {
      const own = await queue.admit(deps, request);
      if (own.kind === 'work') {
        deps.log.info(`The pull request of ${nameOfLane(one.lane)} comes first: it conflicts, or a check fails.`);
        // If this run achieves nothing, the next ones work on the queue for some hours; if it dies, the next one
        // resumes this lane.
        await rememberExamined(deps, one);
        return { ...nothingExamined, work: own };
      }
      if (needsUnnotifiedPerson(deps, own)) unnotified ??= own;
      else if (own.outcome.kind === 'idle' || own.outcome.kind === 'blocked') await rememberExamined(deps, one);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problem ??= error;
    }
  }
  return { work: null, unnotified, problem, warnings: [] };
}

/** Lists the open pull requests, and lists them again if GitHub does not know yet which can be merged: the first request makes it find out. */
async function listTwice({ forge, config }: GateDeps): Promise<readonly WaitingPullRequest[]> {
  const open = await forge.waitingPullRequests(config.branchPrefix);
  const isUnknown = open.some(({ mergeable }) => mergeable === 'unknown');
  return isUnknown ? forge.waitingPullRequests(config.branchPrefix) : open;
}

async function lanesToExamine(
  { store, clock, config }: GateDeps,
  open: readonly WaitingPullRequest[],
): Promise<readonly LaneInNeed[]> {
  const at = { prefix: config.branchPrefix, now: clock.now() };
  if (lanesInNeed(open, { ...at, looked: [] }).length === 0) return [];
  const known = await store.read();
  return lanesInNeed(open, { ...at, looked: known.kind === 'snapshot' ? examinedIn(known.snapshot) : [] });
}

/** Returns the request for a lane that needs work; null if the run decides on the queue anyway, or the issue is gone. */
async function requestFor(deps: GateDeps, { lane }: LaneInNeed, queue: Queue): Promise<Request | null> {
  if (lane === QUEUE) return queue.request;
  const number = issueOfId(lane);
  if (number === null) return null;
  const listed = queue.issues.find((one) => one.number === number);
  const issue = listed ?? (await deps.forge.issue(number));
  if (issue === null) return null;
  const isTask = issue.state === 'open' && (listed !== undefined || hasLabel(issue.labels, deps.config.taskLabel));
  const purpose: Purpose = { kind: 'answers', failedOn: null, of: isTask ? 'waiting' : 'waiting-finished' };
  return requestByItself(issue, purpose);
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
 * Continues an issue's own lane that reached a limit or was parked if the queue has nothing to do, or notifies people
 * of a resting one if an earlier run could not. Returns null for neither.
 */
export async function continueIssueLane(
  deps: GateDeps,
  { intake, continuable }: Pick<Ended, 'intake' | 'continuable'>,
  admit: (deps: GateDeps, request: Request) => Promise<Intake>,
): Promise<Intake | null> {
  let unnotified: Intake | null = null;
  const resting: LaneId[] = [];
  for (const issue of mayServeOtherLanes(intake.outcome) ? continuable.slice(0, MAX_LANES) : []) {
    const own = await admit(deps, requestByItself(issue, FOR_TASKS));
    if (own.kind === 'work') return own;
    if (unnotified === null && needsUnnotifiedPerson(deps, own)) unnotified = own;
    else if (own.outcome.reason === 'all_done') resting.push(issueLane(issue.number));
  }
  // Their records say so, and runs leave them alone until somebody asks something of them.
  if (resting.length > 0) {
    const message = `${resting.map(nameOfLane).join(', ')}: nothing to do, says run ${deps.context.runId}`;
    await deps.store.update((newest) => ({ snapshot: withNothingToDo(newest, resting), message, answer: null }));
  }
  return unnotified;
}

/** Returns true if the lane needs a person who was not notified. */
function needsUnnotifiedPerson(
  { config, clock }: GateDeps,
  { lane, state, tasks, outcome, notes }: Ended['intake'],
): boolean {
  if (config.notify.kind === 'none' || lane === null || state === null) return false;
  const isWaiting = outcome.reason === 'waiting_for_review' && notes.held !== null;
  const about = aboutLane(lane.id);
  if (isWaiting) return !state.notified.some((one) => one.kind === outcome.reason && one.about === about);
  const { maxRounds } = config.answers;
  return needsAtRest({ lane: lane.id, state, tasks, outcome, maxRounds }, clock.now()).length > 0;
}
