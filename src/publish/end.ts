import { aboutLane, EVERY_RUN, markerOf, type Need } from '../core/people/notifications.ts';
import type { Intake } from '../handover/intake.ts';
import { publishAnswer } from './answer.ts';
import { publishNotices } from './comments.ts';
import { labelWishesOfEnd, publishLabels } from './labels.ts';
import type { PublishDeps } from './deps.ts';
import { approversOf, notifyOnce, tasksOfNeeds, threadOfLane } from './notifications.ts';
import { mayNotify, planNotifications } from '../core/people/needs.ts';
import { issueOfTask } from '../core/tasks/task.ts';
import { APPROVAL_MARKER, NOT_ASKED_FOR } from '../report/pages/approval-notice.ts';
import { renderSettled, WORKS_AGAIN } from '../report/pages/notification.ts';
import { reportOfEnd } from './report-of.ts';
import { textOf } from '../errors.ts';
import { sentence } from '../core/text/sentence.ts';

type EndIntake = Extract<Intake, { kind: 'end' }>;

/** What people hear of a run that the gate ended: the answer to who asked, notices, labels. Returns the intake with what went wrong in its warnings. */
export async function publishEnd(deps: PublishDeps, intake: EndIntake): Promise<EndIntake> {
  const unanswered = await publishAnswer(deps, intake).then(
    () => [],
    (error: unknown) => [`The answer could not be written: ${sentence(textOf(error))}`],
  );
  for (const warning of unanswered) deps.log.warning(warning);
  const { notified, warnings } = await publishNotices(deps, intake.notes.notices, intake.answer?.thread ?? null);
  const unsettled = [...(await settleOver(deps, intake)), ...(await settleConfiguration(deps, intake))];
  const unnotified = await notifyOfRest(deps, intake);
  // Without a state that is kept nothing is known of what was done.
  const known = deps.config.stateStore === 'none' ? { ...intake, state: null } : intake;
  const failed = await publishLabels(deps, labelWishesOfEnd(known, notified));
  return {
    ...intake,
    notes: {
      ...intake.notes,
      warnings: [...intake.notes.warnings, ...unanswered, ...warnings, ...unsettled, ...unnotified, ...failed],
    },
  };
}

/** Nobody waits for the lane's next run to see that an issue or a pull request was closed. What the state remembers of it, that run settles without writing it twice. */
async function settleOver({ forge, redact, log, clock }: PublishDeps, { over }: EndIntake): Promise<readonly string[]> {
  if (over === null) return [];
  const { thread, needs, why } = over;
  const [about = ''] = needs.map((need) => need.about);
  try {
    await forge.settleNotifications(thread, {
      needs,
      words: redact(renderSettled([{ notification: { about }, why }])),
    });
    await forge.amendComment(thread, APPROVAL_MARKER, {
      body: NOT_ASKED_FOR,
      writtenBefore: clock.now(),
      closing: true,
    });
    return [];
  } catch (error) {
    const warning = `Earlier notifications could not be marked as settled: ${sentence(textOf(error))}`;
    log.warning(warning);
    return [warning];
  }
}

/** A run that got so far that it answers has a configuration that works. */
async function settleConfiguration(deps: PublishDeps, { outcome, answer }: EndIntake): Promise<readonly string[]> {
  if (outcome.kind === 'failed' || answer === null || answer.thread === null) return [];
  try {
    await deps.forge.amendComment(answer.thread, markerOf([{ kind: 'configuration', about: EVERY_RUN }]), {
      body: WORKS_AGAIN,
      writtenBefore: deps.clock.now(),
      closing: true,
    });
    return [];
  } catch (error) {
    return [`An earlier notification could not be marked as settled: ${sentence(textOf(error))}`];
  }
}

/** What the lane rests for is said once: by the run that began to wait, or by this one, where that one could not. */
async function notifyOfRest(deps: PublishDeps, intake: EndIntake): Promise<readonly string[]> {
  const { lane, state, tasks } = intake;
  if (lane === null || state === null) return [];
  const now = deps.clock.now();
  const needs = needsOfRest(intake, now);
  const concerned = tasksOfNeeds(needs, tasks);
  const thread =
    (concerned.length === 1 && concerned[0] !== undefined ? issueOfTask(concerned[0]) : null) ??
    threadOfLane(lane.pullRequest, [...concerned, ...tasks]);
  if (needs.length === 0 || thread === null || !mayNotify(state.notifiedAt, now)) return [];
  const { config, context, redact } = deps;
  try {
    await notifyOnce(deps, {
      needs,
      thread,
      report: reportOfEnd({ config, context, redact, now }, intake, now),
      change: state.change,
      lastTask: state.lastIteration?.taskId ?? null,
      askers: approversOf(state, concerned.length > 0 ? concerned : tasks),
    });
    return [];
  } catch (error) {
    const warning = `Nobody could be notified: ${sentence(textOf(error))}`;
    deps.log.warning(warning);
    return [warning];
  }
}

/** What a person is needed for, and no notification is known of. */
function needsOfRest({ outcome, lane, state, tasks }: EndIntake, now: number): readonly Need[] {
  if (lane === null || state === null) return [];
  if (outcome.reason === 'waiting_for_review') {
    const isKnown = state.notified.some(({ kind }) => kind === 'waiting_for_review');
    return isKnown ? [] : [{ kind: 'waiting_for_review', about: aboutLane(lane.id) }];
  }
  if (outcome.kind !== 'blocked') return [];
  const end = { lane: lane.id, startedAt: now, before: state, after: state, tasks, outcome, pullRequest: null };
  return planNotifications(end).notify;
}
