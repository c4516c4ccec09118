import { recordRound } from '../core/feedback/answered.ts';
import { isKnownRed } from '../core/lane/check.ts';
import { loseProgress } from '../core/lane/settle.ts';
import type { LaneState } from '../core/lane/state.ts';
import { isForReview, type Outcome } from '../core/outcome.ts';
import { isAllWithdrawn } from '../core/people/withdrawal.ts';
import { laneKeyPrefix } from '../core/sharing/cache-keys.ts';
import { sentence } from '../core/text/phrase.ts';
import { mapTexts } from '../core/text/redact.ts';
import { textOf, UserError } from '../errors.ts';
import { verifiedState, type Work } from '../handover/intake.ts';
import type { SavedReport, WorkedReport } from '../handover/report.ts';
import type { PullRequest } from '../ports/forge.ts';
import type { Released } from '../ports/state.ts';
import type { ReportFrame } from '../report/at-gate.ts';
import { peoplesChars, withPeoplesText } from '../report/pages/feedback-section.ts';
import { renderPullRequest } from '../report/pages/pull-request.ts';
import { type AnswersPosted, publishAnswers, publishComments, requestReviewAgain, within } from './answers.ts';
import type { PublishDeps } from './deps.ts';
import { labelPullRequest, labelWishes, publishLabels } from './labels.ts';
import { notifiesOfTask, publishNotifications, readNotices } from './notifications.ts';
import { heedPeople, publishBranch, type PublishedBranch } from './publish-branch.ts';
import { reportOfWork } from './report-of.ts';
import { keepFirst, type PublishedEnd, saveState } from './save-state.ts';

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

/** Housekeeping: what is not deleted now is deleted by a later run. */
async function tidyCaches({ config, forge, stepWithinMs }: PublishDeps, { lane }: Work): Promise<void> {
  if (config.stateStore === 'ref') return;
  await within(stepWithinMs, forge.deleteSupersededCaches(laneKeyPrefix(lane.id), KEPT_CACHES)).catch(() => 0);
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
