import { aboutLane } from '../core/people/notifications.ts';
import { progressOf } from '../core/tasks/queue.ts';
import { mapTexts } from '../core/text/redact.ts';
import { sentence } from '../core/text/sentence.ts';
import { textOf } from '../errors.ts';
import type { Intake } from '../handover/intake.ts';
import { untouchedWork } from '../handover/work.ts';
import { feedbackSection } from '../report/pages/feedback-section.ts';
import { renderSettled } from '../report/pages/notification.ts';
import { peoplesChars, withPeoplesText } from '../report/pages/pull-request-edits.ts';
import { renderPullRequest } from '../report/pages/pull-request.ts';
import { renderStatusComment, STATUS_MARKER } from '../report/pages/status-comment.ts';
import type { PublishDeps } from './deps.ts';
import { reportOfWork } from './report-of.ts';

/** The pull request says what was asked again and is out of rounds, since no run works that would, as does the status comment, and what called it ready says that it is not: nothing is written once it says so. Returns warnings. */
export async function showOutOfRounds(
  { config, context, redact, clock, forge, log }: PublishDeps,
  { outcome, lane, tasks, state, notes }: Extract<Intake, { kind: 'end' }>,
): Promise<readonly string[]> {
  const pullRequest = lane?.pullRequest ?? null;
  const head = state?.lastRun?.published?.head ?? null;
  if (outcome.kind !== 'blocked' || lane === null || state === null || head === null) return [];
  if (pullRequest?.state !== 'open') return [];
  if (!tasks.some(({ id }) => progressOf(state.tasks, id).reason === 'feedback_rounds')) return [];
  const now = clock.now();
  const work = untouchedWork({ lane, tasks, notes, state, head, remoteHead: head, shown: null, startedAt: now }, now);
  const published = { pullRequest, headSha: head, saved: null };
  const report = reportOfWork({ config, context, redact, now }, { ...work, outcome }, published);
  if (pullRequest.body.replaceAll('\r\n', '\n').includes(redact(feedbackSection(report)))) return [];
  const own = mapTexts(renderPullRequest(report, peoplesChars(pullRequest)), redact);
  try {
    await forge.updatePullRequest(pullRequest.number, withPeoplesText(pullRequest, own));
    // So does the status below it.
    await forge.upsertComment(pullRequest.number, STATUS_MARKER, redact(renderStatusComment(report, null)));
    const called = state.notified.find(({ kind, about }) => kind === 'ready' && about === aboutLane(lane.id));
    // The lane's memory, which this run does not have to itself, keeps it: it is settled once more when work goes on.
    if (called?.comment != null) {
      const words = redact(renderSettled([{ notification: called, why: 'held_up' }]));
      await forge.settleComments([{ id: called.comment, words, closing: false }]);
    }
    return [];
  } catch (error) {
    const warning = `The pull request could not be updated: ${sentence(textOf(error))}`;
    log.warning(warning);
    return [warning];
  }
}
