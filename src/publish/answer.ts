import type { Intake } from '../handover/intake.ts';
import {
  ANSWER_MARKER,
  REFUSAL_MARKER,
  renderAnswer,
  STATUS_MARKER,
  withAnswer,
} from '../report/pages/status-comment.ts';
import { laneViewOf } from './lane-view.ts';
import type { PublishDeps } from './deps.ts';
import { reportOfEnd } from './report-of.ts';

/** Answers who asked for work or gave a command, in the thread where that was done: in its sticky comment, or beside the one that a run at work keeps. */
export async function publishAnswer(deps: PublishDeps, intake: Extract<Intake, { kind: 'end' }>): Promise<void> {
  const { answer } = intake;
  if (answer === null || answer.thread === null) return;
  const { config, context, redact } = deps;
  const now = deps.clock.now();
  const report = reportOfEnd({ config, context, redact, now }, intake, now);
  // A run that ended before it had restored a lane knows nothing of one.
  const view = intake.state === null ? null : laneViewOf(intake, { config, context, now });
  const notice = intake.notes.notices.find(({ issue }) => issue === answer.thread) ?? null;
  const body = renderAnswer(answer.text, report, { view, notice });
  if (answer.text.kind === 'refusal') await deps.forge.upsertComment(answer.thread, REFUSAL_MARKER, redact(body));
  // Who asked for work that another run does reads of it in that run's status.
  else if (intake.notes.claimedBy !== null && intake.outcome.reason === 'answered')
    await deps.forge.upsertComment(answer.thread, ANSWER_MARKER, `${ANSWER_MARKER}\n\n${redact(body)}`);
  else await deps.forge.upsertComment(answer.thread, STATUS_MARKER, (current) => withAnswer(current, redact(body)));
}
