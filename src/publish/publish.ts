import { recordRound } from '../core/feedback/answered.ts';
import { isKnownRed } from '../core/lane/verification.ts';
import { undoIterationCount, discountProgress } from '../core/lane/settle/settle-published.ts';
import type { LaneState } from '../core/lane/state/state.ts';
import { isForReview, type Outcome } from '../core/outcome.ts';
import { isAllWithdrawn } from '../core/people/withdrawal.ts';
import { formatLaneKeyPrefix } from '../core/sharing/cache-keys.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { type Train, withPublished } from '../core/train/train.ts';
import { mapTexts } from '../core/text/redact.ts';
import { getErrorText, UserError } from '../errors.ts';
import { selectStateToBuildOn, type Work } from '../handover/intake.ts';
import { createOutrunEnd, findOutrun } from '../handover/outrun.ts';
import type { SavedReport, WorkedReport } from '../handover/report.ts';
import type { PullRequest } from '../ports/forge.ts';
import type { ReleaseResult } from '../ports/state.ts';
import type { ReportFrame } from '../report/at-gate.ts';
import { countPeoplesChars, withPeoplesText } from '../report/pages/pull-request-body.ts';
import { buildPullRequestText } from '../report/pages/pull-request.ts';
import { type AnswersPosted, publishAnswers, publishComments, requestReviewAgain, withTimeLimit } from './answers.ts';
import { publishDashboard } from './dashboard.ts';
import type { PublishDeps } from './deps.ts';
import { labelPullRequest, chooseLabels, publishLabels } from './labels.ts';
import { notifiesOfTask, publishNotifications, selectNotices } from './notifications.ts';
import { markWithdrawnWork, publishBranch, type PublishedBranch } from './publish-branch.ts';
import { reportOfWork, sumUsage } from './report-of.ts';
import { publishProposal } from './proposal.ts';
import { saveStateFirst, type PublishedEnd, saveState } from './save-state.ts';
import { publishTrain } from './train.ts';

/** Number of a lane's cache entries that are kept, because another run may be reading one. */
const KEPT_CACHES = 2;

/**
 * The result of publishing. `lane` is the result of releasing the lane. `isOnRemote` is true if all commits of the work
 * reached the remote.
 */
export interface PublishResult {
  readonly report: WorkedReport;
  readonly lane: ReleaseResult;
  readonly isOnRemote: boolean;
}

/**
 * Publishes work: pushes the branch, writes the pull request and the comments, saves the state, and returns the report.
 * A step that hangs does not block later ones. Safe to repeat.
 */
export async function publishWork(deps: PublishDeps, unchecked: Work): Promise<PublishResult> {
  const outrun = await findOutrun(deps, unchecked);
  if (outrun !== null) return leaveToOther(deps, unchecked, outrun);
  // A record of an earlier version lacks this field, so it may be missing.
  const proposal = unchecked.proposal ?? null;
  if (proposal !== null) return { ...(await publishProposal(deps, unchecked, proposal)), isOnRemote: true };
  const verified = selectStateToBuildOn(unchecked, deps.config.policy, deps.clock.now());
  const feedback = recordRound(verified, {
    startedAt: unchecked.startedAt,
    head: unchecked.base,
    tasks: unchecked.tasks.map(({ id }) => id),
    checks: unchecked.notes.checks?.counts ?? null,
  });
  const people = await markWithdrawnWork(deps, { ...unchecked, state: { ...verified, feedback } });
  const finished = people.work;
  const branch: PublishedBranch =
    people.lane !== null && people.lane.kind !== 'closed'
      ? { kind: 'lost', remoteHead: null, outcome: finished.outcome, work: finished }
      : await publishBranch(deps, finished, people.isAnswered);
  const worked = withoutLosses(deps, branch);
  const {
    notified,
    end,
    pull,
    answers,
    reportWith,
    warnings: earlierWarnings,
    mustRetry,
  } = await publishForPeople(deps, worked, branch).catch(async (error: unknown) => {
    // Release the lane even on unexpected errors, and keep the calls on record; otherwise the lane stays locked until
    // the lease expires.
    const end: PublishedEnd = {
      outcome: { kind: 'failed', reason: 'infrastructure', message: '' },
      remoteHead: branch.remoteHead,
      pullRequest: worked.lane.pullRequest,
      published: false,
    };
    await saveState(deps, worked, { ...end, isPublished: false });
    throw error;
  });
  const isPublished = !mustRetry && answers.unposted === 0 && !wasUnreachable(end);
  const { saved, lane } = await saveState(deps, notified, { ...end, isPublished });
  const report = reportWith(saved);
  const [unlabelled, warnings] = await Promise.all([
    pull.kind === 'current' && pull.pullRequest !== null ? labelPullRequest(deps, pull.pullRequest) : [],
    notifyIssues(deps, { work: notified, report, known: notified.state.notified }),
    saved.kind === 'saved' ? tidyCaches(deps, notified) : null,
  ]);
  const failures = [...answers.warnings, ...earlierWarnings, ...unlabelled, ...warnings];
  const train = trainAfter(deps, worked, pull.pullRequest);
  const shown = train === null ? null : await publishTrain(deps, train, 1);
  const unkept = await publishDashboard(deps, { ...notified.notes, tasks: notified.tasks, train: shown });
  const { hasNewCommits, head } = branch.work;
  return {
    report: { ...report, train: shown, warnings: [...report.warnings, ...failures, ...unkept] },
    lane,
    isOnRemote: !hasNewCommits || branch.remoteHead === head,
  };
}

/**
 * Books what a run has used whose claim has ended. The branch, its pages and its state stay as they are, because they
 * are another run's now.
 */
async function leaveToOther(deps: PublishDeps, outdated: Work, why: string): Promise<PublishResult> {
  const work: Work = { ...outdated, outcome: createOutrunEnd(why) };
  const end: PublishedEnd = { outcome: work.outcome, remoteHead: null, pullRequest: null, published: false };
  const { saved, lane } = await saveState(deps, work, { ...end, isPublished: false });
  const published = { pullRequest: work.lane.pullRequest, headSha: null, saved };
  return { report: reportOfWork(frameOf(deps), work, published), lane, isOnRemote: true };
}

/** Publishes the pull request, answers and notifications, and returns the work with their results. */
async function publishForPeople(deps: PublishDeps, worked: Work, branch: PublishedBranch) {
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
  const sequence = notifiesOfTask(deps, ending) ? await saveStateFirst(deps, work, end) : work.state.sequence;
  const { warnings: unnotified, mustRetry, ...remembered } = await publishNotifications(deps, ending);
  const isReady = end.published && pull.pullRequest !== null && !pull.pullRequest.draft && isForReview(end.outcome);
  const again = isReady
    ? await requestReviewAgain(deps, work.state.feedback, pull.pullRequest.number)
    : { feedback: work.state.feedback, warnings: [] };
  const notified: Work = { ...work, state: { ...work.state, ...remembered, feedback: again.feedback, sequence } };
  return { notified, end, pull, answers, reportWith, warnings: [...unnotified, ...again.warnings], mustRetry };
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
  const { pullRequest: before } = lane;
  const after = before === null ? null : { ...before, draft: before.draft && !isForReview(outcome) };
  const shown = { ...work, notes: { ...work.notes, train: trainAfter(deps, work, after) } };
  const report = reportOfWork(frameOf(deps), shown, { pullRequest: before, headSha: remoteHead, saved: null });
  try {
    const pullRequest = await withTimeLimit(deps.stepWithinMs, openOrUpdate(deps, work, report));
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
    return { kind: 'behind', outcome: outcome.kind === 'failed' ? outcome : failed, pullRequest: before };
  }
}

/**
 * Opens or updates the pull request after reading it again, because a main that was killed may have opened it already,
 * and people merge and close while the agent works. A merged pull request lacks this run's commits, and one that was
 * closed in the meantime must stay closed.
 */
async function openOrUpdate(deps: PublishDeps, work: Work, report: WorkedReport): Promise<PullRequest | null> {
  const { forge, config, redact } = deps;
  const { lane, tasks } = work;
  const newest = await forge.pullRequestOf(lane.branch);
  const closedMeanwhile = newest?.state === 'closed' && newest.number === lane.pullRequest?.number;
  const isOurs = newest !== null && (newest.state === 'open' || closedMeanwhile);
  // Leave room for people's text, including text that they wrote while the agent worked.
  const own = mapTexts(buildPullRequestText(report, isOurs ? countPeoplesChars(newest) : 0), redact);
  const text = isOurs ? withPeoplesText(newest, own) : own;
  if (isOurs) await forge.updatePullRequest(newest.number, text);
  // People withdrew everything that a new pull request would contain, so open none; the work stays on the branch.
  else if (isAllWithdrawn(tasks)) return null;
  const pullRequest = isOurs
    ? newest
    : await forge.openPullRequest({ ...text, head: lane.branch, base: lane.baseBranch, draft: config.draft });
  return pullRequest === null ? null : setDraftState(deps, work, pullRequest);
}

/** Makes the pull request a draft or ready for review, depending on how the run ended. */
async function setDraftState(
  { forge, config, log }: PublishDeps,
  { outcome, state, head, hasNewCommits, notes }: Work,
  pullRequest: PullRequest,
): Promise<PullRequest> {
  const { number, draft } = pullRequest;
  // A draft stays a draft, even if its head had to be freed.
  const wasDraft = notes.held?.isDraft === true && outcome.kind !== 'complete';
  // Nothing was pushed, so the head is still the one on which people decided.
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
    log.warning(
      `\`verify\` fails, and the pull request could not be made a draft again: ${completeSentence(getErrorText(error))}`,
    );
    return pullRequest;
  }
}

/** Posts the answers if the work is on the remote, because an answer must not name a commit that people cannot see. */
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

/**
 * Returns the work without the iterations whose commits did not reach the remote: nothing in them is done, but their
 * calls stay booked. An iteration that a failure of the machine cut off after a call is lost as well, without an
 * attempt of its task: otherwise a full disk would cost one call in each run, and nobody would be notified.
 */
function withoutLosses(
  { config, clock }: Pick<PublishDeps, 'config' | 'clock'>,
  { work, kind }: PublishedBranch,
): Work {
  const { lastPublished, journal, outcome } = work;
  const { lastRun } = lastPublished.state;
  const { policy } = config;
  const now = clock.now();
  const isOfMachine = outcome.kind === 'failed' && outcome.reason === 'infrastructure';
  // Post must not count again the losses that main has already saved.
  const isCounted = lastRun !== null && lastRun.at > work.startedAt && lastRun.outcome !== 'cancelled';
  const isCutOff = isOfMachine && !isCounted && sumUsage(work).unfinished.calls > 0;
  const after = isCutOff ? undoIterationCount(work.state, policy, now) : work.state;
  if (kind === 'published') return { ...work, state: after };
  // A rule of the server is not the fault of any task, so nothing counts as lost.
  const lost = kind === 'refused' || isCounted ? 0 : journal.length - lastPublished.iterations;
  const state = discountProgress({ before: lastPublished.state, after, iterations: lost }, policy, now);
  return {
    ...work,
    state,
    journal: journal.map((entry, index) => (index < lastPublished.iterations ? entry : { ...entry, commit: null })),
  };
}

/** Returns the train that the gate has seen, with the pull request as this run publishes it. */
function trainAfter(
  { clock }: Pick<PublishDeps, 'clock'>,
  { notes, lane, head, state }: Work,
  pull: PullRequest | null,
): Train | null {
  // A record of an earlier version lacks this field, so it may be missing.
  const train = notes.train ?? null;
  if (train === null || pull?.state !== 'open') return train;
  const isOvertaken = (state.feedback.overtaken?.approvedBy.length ?? 0) > 0;
  const { number, draft: isDraft } = pull;
  return withPublished(train, { number, branch: lane.branch, head, isDraft, isOvertaken, now: clock.now() });
}

/** Deletes superseded caches. After a failure, a later run deletes them. */
async function tidyCaches({ config, forge, stepWithinMs }: PublishDeps, { lane }: Work): Promise<void> {
  if (config.stateStore === 'ref') return;
  await withTimeLimit(stepWithinMs, forge.deleteSupersededCaches(formatLaneKeyPrefix(lane.id), KEPT_CACHES)).catch(
    () => 0,
  );
}

/** Returns true if GitHub was out of reach, so that a later run may succeed. */
function wasUnreachable({ published, outcome }: PublishedEnd): boolean {
  return !published && outcome.kind === 'failed' && outcome.reason === 'infrastructure';
}

/** Writes comments and labels. Failures become warnings, because the work itself is safe. */
async function notifyIssues(
  deps: PublishDeps,
  worked: { readonly work: Work; readonly report: WorkedReport; readonly known: LaneState['notified'] },
): Promise<readonly string[]> {
  const { work, report, known } = worked;
  const { notices } = work.notes;
  const notified = selectNotices(deps, notices, known);
  return [
    ...(await publishComments(deps, report)),
    ...(await publishLabels(deps, chooseLabels({ tasks: work.tasks, progress: work.state.tasks, notices, notified }))),
  ];
}

function frameOf({ config, context, clock, redact }: PublishDeps): ReportFrame {
  return { config, context, redact, now: clock.now() };
}
