import { EVERY_RUN, markerOf } from '../core/people/notifications.ts';
import type { Intake } from '../handover/intake.ts';
import { publishAnswer } from './answer.ts';
import { labelWishesOfEnd, publishLabels } from './labels.ts';
import type { PublishDeps } from './deps.ts';
import { showOutOfRounds } from './out-of-rounds.ts';
import { notifyAtGate } from './rest.ts';
import { APPROVAL_MARKER, APPROVED_AGAIN, NOT_ASKED_FOR } from '../report/pages/approval-notice.ts';
import { renderSettled, WORKS_AGAIN } from '../report/pages/notification.ts';
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
  await settleOver(deps, intake);
  await settleConfiguration(deps, intake);
  const { notified, warnings } = await notifyAtGate(deps, intake);
  const unshown = await showOutOfRounds(deps, intake);
  // Without a state that is kept nothing is known of what was done.
  const known = deps.config.stateStore === 'none' ? { ...intake, state: null } : intake;
  const failed = await publishLabels(deps, labelWishesOfEnd(known, notified));
  return {
    ...intake,
    notes: { ...intake.notes, warnings: [...intake.notes.warnings, ...unanswered, ...warnings, ...unshown, ...failed] },
  };
}

/** Nobody waits for the lane's next run to see that an issue or a pull request was closed. What the state remembers of it, that run settles without writing it twice. */
async function settleOver({ forge, redact, clock }: PublishDeps, { over }: EndIntake): Promise<void> {
  if (over === null) return;
  const { thread, needs, why } = over;
  const [about = ''] = needs.map((need) => need.about);
  await forge.settleNotifications(thread, { needs, words: redact(renderSettled([{ notification: { about }, why }])) });
  await forge.amendComment(thread, APPROVAL_MARKER, {
    body: why === 'approved' ? APPROVED_AGAIN : NOT_ASKED_FOR,
    writtenBefore: clock.now(),
    closing: true,
  });
}

/** A run that got so far that it answers has a configuration that works. */
async function settleConfiguration(deps: PublishDeps, { outcome, answer }: EndIntake): Promise<void> {
  if (outcome.kind === 'failed' || answer === null || answer.thread === null) return;
  await deps.forge.amendComment(answer.thread, markerOf([{ kind: 'configuration', about: EVERY_RUN }]), {
    body: WORKS_AGAIN,
    writtenBefore: deps.clock.now(),
    closing: true,
  });
}
