import { recordRound } from '../core/feedback/answered.ts';
import type { Feedback } from '../core/feedback/memory.ts';
import { leaseOf } from '../config/config.ts';
import { settleRun } from '../core/sharing/budget.ts';
import { advance, changeUsage, save } from '../core/snapshot/changes.ts';
import { nameOfLane } from '../core/tasks/ids.ts';
import { laneKeyPrefix } from '../core/sharing/cache-keys.ts';
import { isKnownRed } from '../core/lane/check.ts';
import { isForReview, type Outcome } from '../core/outcome.ts';
import { endRun, loseProgress, recordPublished } from '../core/lane/settle.ts';
import type { LaneState } from '../core/lane/state.ts';
import { clearHead, type Cleared, type HeadDeps } from '../handover/clear-head.ts';
import { documentOf, verifiedState, transcriptBefore } from '../handover/stored.ts';
import { hasConversation } from '../core/lane/session.ts';
import type { Work } from '../handover/work.ts';
import type { PullRequest } from '../ports/forge.ts';
import {
  isAllWithdrawn,
  isWithdrawn,
  outcomeAfterWithdrawal,
  unclaimTasks,
  withdrawalWarning,
  withdrawTasks,
} from '../core/people/withdrawal.ts';
import { mapTexts } from '../core/text/redact.ts';
import type { LaneStart, PushResult } from '../ports/repository.ts';
import type { Released, Transcript } from '../ports/state.ts';
import { peoplesChars, withPeoplesText } from '../report/pages/pull-request-edits.ts';
import { renderPullRequest } from '../report/pages/pull-request.ts';
import type { WorkedReport, SavedReport } from '../handover/report.ts';
import { textOf, UserError } from '../errors.ts';
import { lookAtLane, lookAtWork, type LaneWithdrawal } from './people-now.ts';
import { publishAnswers, type AnswersPosted } from './answers.ts';
import { publishComments } from './comments.ts';
import { labelPullRequest, labelWishes, publishLabels } from './labels.ts';
import { notifiesOfTask, publishNotifications, readNotices } from './notifications.ts';
import type { PublishDeps } from './deps.ts';
import { reportOfWork, type ReportFrame } from './report-of.ts';
import { requestReviewAgain } from './review-again.ts';
import { within } from './within.ts';
import { whyOf } from '../core/refusals/refusal.ts';
import { sentence } from '../core/text/sentence.ts';

/** Entries of a lane that stay: one may just be read by another run. */
const KEPT_CACHES = 2;

/** `lane`: whether saving the state gave it back. */
export interface Published {
  readonly report: WorkedReport;
  readonly lane: Released;
}

/** Work → pushed branch, pull request, saved state, comments, and the report of it all. A step that hangs costs no later one its turn. Safe to repeat. */
export async function publish(deps: PublishDeps, unchecked: Work): Promise<Published> {
  const verified = verifiedState(unchecked, deps.config.policy, deps.clock.now());
  const feedback = recordRound(verified, {
    startedAt: unchecked.startedAt,
    head: unchecked.base,
    tasks: unchecked.tasks.map(({ id }) => id),
    checks: unchecked.notes.checks?.counts ?? null,
  });
  const people = await heedPeople(deps, { ...unchecked, state: { ...verified, feedback } });
  const finished = people.work;
  const branch: PublishedBranch =
    people.lane?.kind === 'deleted'
      ? { kind: 'lost', remoteHead: null, outcome: finished.outcome, feedback }
      : await publishBranch(deps, finished, people.isAnswered);
  const worked =
    branch.kind === 'published'
      ? { ...finished, state: { ...finished.state, feedback: branch.feedback } }
      : withoutProgress(deps, finished, branch.kind);
  const {
    notified,
    end,
    pull,
    answers,
    reportWith,
    unsaid: untold,
    isUnheard,
  } = await tellPeople(deps, worked, branch).catch(async (error: unknown) => {
    // Nobody foresaw this. It may not keep the lane for an hour, nor forget the calls that were made.
    const end: PublishedEnd = {
      outcome: { kind: 'failed', reason: 'infrastructure', message: '' },
      remoteHead: branch.remoteHead,
      pullRequest: worked.lane.pullRequest,
      published: false,
    };
    await saveState(deps, worked, { ...end, isPublished: false });
    throw error;
  });
  const isPublished = !isUnheard && answers.unposted === 0 && !isCutOff(end);
  const { saved, lane } = await saveState(deps, notified, { ...end, isPublished });
  const report = reportWith(saved);
  const [unlabelled, warnings] = await Promise.all([
    pull.kind === 'current' && pull.pullRequest !== null ? labelPullRequest(deps, pull.pullRequest) : [],
    notifyIssues(deps, { work: notified, report, known: notified.state.notified }),
    saved.kind === 'saved' ? tidyCaches(deps, notified) : null,
  ]);
  const unsaid = [...answers.warnings, ...untold, ...unlabelled, ...warnings];
  return { report: { ...report, warnings: [...report.warnings, ...unsaid] }, lane };
}

/** Pull request, answers and notifications, and the work as they leave it. */
async function tellPeople(deps: PublishDeps, worked: Work, branch: PublishedBranch) {
  const pull = await publishPullRequest(deps, { ...worked, outcome: branch.outcome }, branch.remoteHead);
  const end: PublishedEnd = {
    outcome: pull.outcome,
    remoteHead: branch.remoteHead,
    pullRequest: pull.pullRequest,
    published: branch.kind === 'published' && pull.kind === 'current',
  };
  const answers = await answer(deps, worked, end);
  const work = { ...worked, state: { ...worked.state, feedback: answers.feedback } };
  const reportWith = (saved: SavedReport | null): WorkedReport =>
    reportOfWork(
      frameOf(deps),
      { ...work, outcome: end.outcome },
      { pullRequest: pull.pullRequest, headSha: branch.remoteHead, saved },
    );
  const ending = { work, report: reportWith(null), pullRequest: pull.pullRequest };
  const sequence = notifiesOfTask(deps, ending) ? await keepFirst(deps, work, end) : work.state.sequence;
  const { warnings: unnotified, isUnheard, ...remembered } = await publishNotifications(deps, ending);
  const isReady = end.published && pull.pullRequest !== null && !pull.pullRequest.draft && isForReview(end.outcome);
  const again = isReady
    ? await requestReviewAgain(deps, work.state.feedback, pull.pullRequest.number)
    : { feedback: work.state.feedback, warnings: [] };
  const notified: Work = { ...work, state: { ...work.state, ...remembered, feedback: again.feedback, sequence } };
  return { notified, end, pull, answers, reportWith, unsaid: [...unnotified, ...again.warnings], isUnheard };
}

/** A look at GitHub may take this part of the time of a step: what is saved and told behind it must have its turn. */
const LOOK_SHARE = 0.25;

function lookWithin({ stepWithinMs }: PublishDeps): number | null {
  return stepWithinMs === null ? null : stepWithinMs * LOOK_SHARE;
}

/** What people took back while the run worked is neither done nor ready, whatever the run says of it. `isAnswered`: false where the look took too long. */
async function heedPeople(
  deps: PublishDeps,
  work: Work,
): Promise<{ readonly work: Work; readonly lane: LaneWithdrawal | null; readonly isAnswered: boolean }> {
  const { forge, remote, config, log } = deps;
  const looking = { forge, remote, config, debug: log.info };
  const seen = await within(
    lookWithin(deps),
    // A branch without commits is taken away by an earlier try of this very run.
    Promise.all([lookAtWork(looking, work), hasBranchToLose(work) ? lookAtLane(looking, work) : null]),
  ).catch(() => null);
  const [withdrawals, lane] = seen ?? ([[], null] as const);
  const tasks = withdrawTasks(work.tasks, withdrawals);
  const warnings = withdrawals.flatMap(({ task: id, why }) => {
    const task = work.tasks.find((one) => one.id === id);
    return task === undefined ? [] : [withdrawalWarning(task, why)];
  });
  for (const warning of warnings) log.warning(warning);
  const unclaimed = tasks.filter((task) => lane !== null || isWithdrawn(task)).map(({ id }) => id);
  const state = unclaimTasks(work.state, work.stateBefore, unclaimed);
  const outcome = outcomeAfterWithdrawal(work.outcome, tasks, state.tasks);
  return {
    work: {
      ...work,
      tasks,
      state,
      outcome: lane === null ? outcome : outcomeOfLane(outcome, lane),
      warnings: [...work.warnings, ...warnings],
    },
    lane,
    isAnswered: seen !== null,
  };
}

function hasBranchToLose({ hasNewCommits, lane }: Work): boolean {
  return hasNewCommits || lane.start.kind === 'continue' || lane.start.kind === 'reuse';
}

/** A push that found no branch any more has not failed: a person deleted it. */
function outcomeOfLane(outcome: Outcome, { kind, by }: LaneWithdrawal): Outcome {
  const isOwn = outcome.kind === 'cancelled' || outcome.reason === 'configuration';
  if (isOwn || (outcome.kind === 'failed' && kind === 'closed')) return outcome;
  return { kind: 'paused', reason: 'by_person', by };
}

/** `lost`: the newest commits of this run did not reach the remote; `refused`: a rule of the server keeps them out. `remoteHead` is null while the lane has no branch there. */
interface PublishedBranch {
  readonly kind: 'published' | 'lost' | 'refused';
  readonly remoteHead: string | null;
  readonly outcome: Outcome;
  readonly feedback: Feedback;
}

async function publishBranch(deps: PublishDeps, work: Work, isAnswered: boolean): Promise<PublishedBranch> {
  const { lane, hasNewCommits, head, base, remoteHead, outcome } = work;
  const { feedback } = work.state;
  if (!hasNewCommits) return { kind: 'published', remoteHead: await withoutEmptyBranch(deps, work), outcome, feedback };
  const cleared: Cleared =
    head === remoteHead ? { kind: 'clear', feedback } : await clearHead(inTime(deps, isAnswered), work);
  if (cleared.kind !== 'clear') return lostBranch(deps, work, { kind: 'unreachable', why: cleared.why });
  // The loop has pushed what it could: from there on the branch is this run's.
  const start: LaneStart = remoteHead === null ? lane.start : { kind: 'continue', remoteHead };
  const pushed = await within(
    deps.stepWithinMs,
    deps.remote.push({ branch: lane.branch, commit: head, since: remoteHead ?? base, start }),
  ).catch(rejectedBy);
  if (pushed.kind === 'pushed') {
    // The loop said so of what it pushed itself.
    if (head !== remoteHead) deps.log.info(`pushed ${head.slice(0, 7)} to ${lane.branch}`);
    return { kind: 'published', remoteHead: head, outcome, feedback: cleared.feedback };
  }
  return lostBranch(deps, work, pushed);
}

/** What clearing a head needs, with each request in its time. Who did not answer a moment ago is not waited for again. */
function inTime(deps: PublishDeps, isAnswered: boolean): HeadDeps {
  const { config, clock, log, forge, stepWithinMs } = deps;
  const silent = (): Promise<never> => Promise.reject(new UserError('infrastructure', 'GitHub does not answer'));
  return {
    config,
    clock,
    log,
    forge: {
      headNow: isAnswered ? (branch) => within(lookWithin(deps), forge.headNow(branch)) : silent,
      freeHead: (number, standing) => within(stepWithinMs, forge.freeHead(number, standing)),
      makeDraft: (number) => within(stepWithinMs, forge.makeDraft(number)),
    },
  };
}

async function lostBranch(
  deps: PublishDeps,
  work: Work,
  result: Exclude<PushResult, { kind: 'pushed' }>,
): Promise<PublishedBranch> {
  const { lane, base, remoteHead, state, outcome } = work;
  const message = `The commits of this run could not be pushed to ${lane.branch}: ${sentence(whyOf(result))}`;
  deps.log.error(message);
  const left = remoteHead === base ? await withoutEmptyBranch(deps, work) : remoteHead;
  const kind = result.kind === 'refused' ? 'refused' : 'lost';
  // The loop has said it already, and people are notified of its words.
  const isKnown = kind === 'refused' && outcome.kind === 'failed' && outcome.reason === 'configuration';
  // What the server minds of the content is left out by the next run, which does the work again.
  const isByRule = result.kind === 'refused' && result.refusal.kind !== 'content';
  const reason = isByRule ? 'configuration' : 'infrastructure';
  const end: Outcome = isKnown ? outcome : { kind: 'failed', reason, message };
  return { kind, remoteHead: left, outcome: end, feedback: state.feedback };
}

/** A branch that was made for work that did not come is taken away again. */
async function withoutEmptyBranch(
  { remote, stepWithinMs }: PublishDeps,
  { lane, base, remoteHead }: Work,
): Promise<string | null> {
  if (lane.start.kind === 'continue' || lane.start.kind === 'reuse' || remoteHead === null) return remoteHead;
  const deleted = await within(stepWithinMs, remote.deleteBranch({ branch: lane.branch, head: base })).catch(
    rejectedBy,
  );
  return deleted.kind === 'deleted' || deleted.kind === 'gone' ? null : remoteHead;
}

/** A remote that cannot be reached has taken nothing either. */
function rejectedBy(error: unknown): Extract<PushResult, { kind: 'rejected' }> {
  return { kind: 'rejected', why: textOf(error) };
}

/** Whether all commits of the work reached the remote. */
export function isOnRemote({ hasNewCommits, head }: Work, { headSha }: WorkedReport): boolean {
  return !hasNewCommits || headSha === head;
}

interface PublishedPullRequest {
  readonly kind: 'current' | 'behind';
  readonly outcome: Outcome;
  readonly pullRequest: PullRequest | null;
}

async function publishPullRequest(
  deps: PublishDeps,
  work: Work,
  remoteHead: string | null,
): Promise<PublishedPullRequest> {
  const { lane, outcome } = work;
  if (remoteHead === null) return { kind: 'current', outcome, pullRequest: null };
  const report = reportOfWork(frameOf(deps), work, { pullRequest: lane.pullRequest, headSha: remoteHead, saved: null });
  try {
    const pullRequest = await within(deps.stepWithinMs, openOrUpdate(deps, work, report));
    if (pullRequest !== null) deps.log.info(`pull request #${String(pullRequest.number)}: ${pullRequest.url}`);
    return { kind: 'current', outcome, pullRequest };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    deps.log.error(error.message);
    const failed: Outcome = {
      kind: 'failed',
      reason: error.kind,
      message: `The commits are on ${lane.branch}, but the pull request is not up to date: ${error.message}`,
    };
    return { kind: 'behind', outcome: outcome.kind === 'failed' ? outcome : failed, pullRequest: lane.pullRequest };
  }
}

/**
 * Looks again: this may be `post`, after a main that was killed right behind its request, and people merge and close while
 * the agent works. What was merged has not this run's commits; what was closed in this time stays closed.
 */
async function openOrUpdate(deps: PublishDeps, work: Work, report: WorkedReport): Promise<PullRequest | null> {
  const { forge, config, redact } = deps;
  const { lane, tasks } = work;
  const newest = await forge.pullRequestOf(lane.branch);
  const closedMeanwhile = newest?.state === 'closed' && newest.number === lane.pullRequest?.number;
  const isOurs = newest !== null && (newest.state === 'open' || closedMeanwhile);
  // What people wrote into it stays, also what they wrote while the agent worked.
  const own = mapTexts(renderPullRequest(report, isOurs ? peoplesChars(newest) : 0), redact);
  const text = isOurs ? withPeoplesText(newest, own) : own;
  if (isOurs) await forge.updatePullRequest(newest.number, text);
  // Nobody wants what would be in a new one. What was done stays on the branch.
  else if (isAllWithdrawn(tasks)) return null;
  const pullRequest = isOurs
    ? newest
    : await forge.openPullRequest({ ...text, head: lane.branch, base: lane.baseBranch, draft: config.draft });
  return standsAs(deps, work, pullRequest);
}

/** The pull request as a draft or ready, by how the run ended. */
async function standsAs(
  { forge, config, log }: PublishDeps,
  { outcome, state, head, hasNewCommits, notes }: Work,
  pullRequest: PullRequest,
): Promise<PullRequest> {
  const { number, draft } = pullRequest;
  // A draft that somebody armed is not ready just because it was freed.
  const wasDraft = notes.held?.isDraft === true && outcome.kind !== 'complete';
  // Nothing was pushed, so the head is still the one that people decided on.
  const isAsBefore = notes.held !== null && !hasNewCommits && pullRequest.headSha === head;
  if (!wasDraft && (isForReview(outcome) || isAsBefore)) {
    if (draft && pullRequest.state === 'open') await forge.markReady(number);
    return { ...pullRequest, draft: false };
  }
  const isRed = state.change.failingSince !== null || isKnownRed(state, head);
  if (draft || !config.draft || !isRed) return pullRequest;
  try {
    await forge.makeDraft(number);
    return { ...pullRequest, draft: true };
  } catch (error) {
    log.warning(`\`verify\` fails, and the pull request could not be made a draft again: ${sentence(textOf(error))}`);
    return pullRequest;
  }
}

/** Only what the remote has is answered for: a commit that people cannot see is none. */
function answer(
  deps: PublishDeps,
  { lane: { branch }, tasks, state, stateBefore }: Work,
  { published, pullRequest }: PublishedEnd,
): Promise<AnswersPosted> {
  const given = { tasks, progress: state.tasks, feedback: state.feedback, earlier: stateBefore.feedback };
  return published && pullRequest !== null && pullRequest.state === 'open'
    ? publishAnswers(deps, { ...given, branch, pullRequest })
    : Promise.resolve({ feedback: state.feedback, unposted: 0, warnings: [] });
}

interface PublishedEnd {
  readonly outcome: Outcome;
  readonly remoteHead: string | null;
  readonly pullRequest: PullRequest | null;
  /** Branch and pull request both say what this run did. */
  readonly published: boolean;
}

/** Work whose newest commits did not reach the remote: nothing was done in them and nobody may read that it was, but the calls were made. */
function withoutProgress(
  { config, clock }: Pick<PublishDeps, 'config' | 'clock'>,
  work: Work,
  why: 'lost' | 'refused',
): Work {
  const { safe, journal } = work;
  const lost = journal.length - safe.iterations;
  // No task is to blame for a rule of the server.
  const iterations = why === 'refused' ? 0 : lost;
  const state = loseProgress({ before: safe.state, after: work.state, iterations }, config.policy, clock.now());
  return {
    ...work,
    state,
    journal: journal.map((entry, index) => (index < safe.iterations ? entry : { ...entry, commit: null })),
  };
}

/** What holds if nothing more is heard of the run. */
const KILLED: Outcome = { kind: 'cancelled', reason: 'killed' };

/** What people are notified of is stored before: whoever finishes this run, should it be killed now, knows why. Returns the number of the newest state. */
async function keepFirst(deps: PublishDeps, work: Work, end: PublishedEnd): Promise<number> {
  const { lane, state, stateBefore } = work;
  if (deps.config.stateStore === 'none' || deps.unsaved !== null) return state.sequence;
  // The conversation is stored with the state at the end, so until then it is the one of before.
  const transcript = transcriptBefore(stateBefore, state);
  const kept = await deps.store.update(
    advance({
      lane: lane.id,
      after: state.sequence,
      document: (sequence) =>
        documentOf(endedState(deps, work, { ...end, outcome: KILLED, sequence }), { transcript, redact: deps.redact }),
      holder: leaseOf(deps, deps.clock.now()),
    }),
  );
  return (kept.kind === 'updated' ? kept.answer : null) ?? state.sequence;
}

/** The state as it is true of the remote. */
function endedState(
  { clock }: PublishDeps,
  { state, head }: Work,
  { outcome, remoteHead, pullRequest, published, sequence }: PublishedEnd & { readonly sequence: number },
): LaneState {
  const now = clock.now();
  const ended = endRun({ ...state, sequence, savedAt: now }, outcome, head, now);
  if (!published || remoteHead === null) return ended;
  return recordPublished(ended, {
    head: remoteHead,
    pullRequest: pullRequest === null ? null : { number: pullRequest.number, url: pullRequest.url },
  });
}

/** `lane`: whether saving gave it back. */
interface Saved {
  readonly saved: SavedReport;
  readonly lane: Released;
}

/** Saves what is true of the remote; gives the lane back with it, and puts what was used in place of what was reserved. `isPublished`: nothing is left that a later run could publish. */
async function saveState(
  deps: PublishDeps,
  work: Work,
  { isPublished, ...end }: PublishedEnd & { readonly isPublished: boolean },
): Promise<Saved> {
  if (deps.config.stateStore === 'none')
    return { saved: { kind: 'not-saved', why: 'state-store is "none"' }, lane: { kind: 'free' } };
  if (deps.unsaved !== null) {
    deps.log.warning(`The state was not saved: ${sentence(deps.unsaved)}`);
    await settleUsage(deps, work, isPublished);
    return { saved: { kind: 'not-saved', why: deps.unsaved }, lane: { kind: 'claimed', why: deps.unsaved } };
  }
  const sequence = work.state.sequence + 1;
  const state = endedState(deps, work, { ...end, sequence });
  const transcript = await exportSessions(deps, state);
  const named = transcript === null ? null : { sha256: transcript.sha256, bytes: transcript.content.length };
  const document = documentOf(state, { transcript: named, redact: deps.redact });
  const now = deps.clock.now();
  const run = { before: work.stateBefore, after: work.state, isPublished };
  const copy = { lane: work.lane.id, sequence, document };
  const change = save({ ...copy, saver: leaseOf(deps, now), now, run });
  const saved = await deps.store.save({ ...copy, transcript }, change, deps.runTag);
  const { lane } = saved;
  if (saved.kind === 'saved') {
    deps.log.info(`state: ${work.notes.restored} … saved #${String(sequence)} (${saved.where})`);
    return { saved: { kind: 'saved', sequence, where: saved.where }, lane };
  }
  deps.log.warning(
    `The state was not saved: ${sentence(saved.why)} The next run on this branch starts from the state before this run, or with one probe iteration if there is none.`,
  );
  return { saved: { kind: 'not-saved', why: saved.why }, lane };
}

/** The session is worth less than the state, which does not wait for it. */
async function exportSessions(deps: PublishDeps, state: LaneState): Promise<Transcript | null> {
  if (!hasConversation(state)) return null;
  return within(deps.stepWithinMs, deps.exportSessions(state)).catch((error: unknown) => {
    deps.log.warning(`The session is not kept, so the next run starts a new one: ${sentence(textOf(error))}`);
    return null;
  });
}

/** Housekeeping: what is not deleted now is deleted by a later run. */
async function tidyCaches({ config, forge, stepWithinMs }: PublishDeps, { lane }: Work): Promise<void> {
  if (config.stateStore === 'ref') return;
  await within(stepWithinMs, forge.deleteSupersededCaches(laneKeyPrefix(lane.id), KEPT_CACHES)).catch(() => 0);
}

/** Where the state stays as it is: reports to the repository's counters what this run used, in place of what it had reserved. */
async function settleUsage(
  { store, context, runTag, clock, log }: PublishDeps,
  work: Work,
  isPublished: boolean,
): Promise<void> {
  const now = clock.now();
  const run = { before: work.stateBefore, after: work.state, isPublished };
  const message = `${nameOfLane(work.lane.id)}: settled by run ${context.runId}`;
  const settled = await store.update(changeUsage((newest) => settleRun(newest, runTag, run, now), { message, now }));
  if (settled.kind === 'unavailable')
    log.warning(
      `What this run used could not be added to the repository's counters: ${sentence(settled.why)} What it had reserved counts instead: its calls for an hour, its cost for the day.`,
    );
}

/** Whether GitHub was out of reach: a later run may do better. */
function isCutOff({ published, outcome }: PublishedEnd): boolean {
  return !published && outcome.kind === 'failed' && outcome.reason === 'infrastructure';
}

/** Comments and labels. What fails here is a warning: the work itself is safe. */
async function notifyIssues(
  deps: PublishDeps,
  {
    work,
    report,
    known,
  }: { readonly work: Work; readonly report: WorkedReport; readonly known: LaneState['notified'] },
): Promise<readonly string[]> {
  const { notices } = work.notes;
  const notified = readNotices(deps, notices, known);
  return [
    ...(await publishComments(deps, report)),
    ...(await publishLabels(deps, labelWishes({ tasks: work.tasks, progress: work.state.tasks, notices, notified }))),
  ];
}

function frameOf({ config, context, clock, redact }: PublishDeps): ReportFrame {
  return { config, context, redact, now: clock.now() };
}
