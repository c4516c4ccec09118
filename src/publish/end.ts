import type { Intake } from '../handover/intake.ts';
import { publishAnswer } from './answer.ts';
import { publishNotices } from './comments.ts';
import { labelWishesOfEnd, publishLabels } from './labels.ts';
import type { PublishDeps } from './deps.ts';
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
  // Without a state that is kept nothing is known of what was done.
  const known = deps.config.stateStore === 'none' ? { ...intake, state: null } : intake;
  const failed = await publishLabels(deps, labelWishesOfEnd(known, notified));
  return {
    ...intake,
    notes: { ...intake.notes, warnings: [...intake.notes.warnings, ...unanswered, ...warnings, ...failed] },
  };
}
