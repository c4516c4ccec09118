import type { Intake } from '../gate/intake.ts';
import { REFUSAL_MARKER, renderAnswer, STATUS_MARKER } from '../report/status-comment.ts';
import { laneViewOf } from './lane-view.ts';
import type { PublishRun } from './publish.ts';

/** Answers a command in the thread where it was given: one sticky comment, updated. */
export async function publishAnswer(run: PublishRun, intake: Extract<Intake, { kind: 'end' }>): Promise<void> {
  const { answer } = intake;
  if (answer === null) return;
  const body = renderAnswer(answer.text, laneViewOf(intake, { config: run.config, runUrl: run.context.runUrl, now: run.clock.now() }));
  const marker = answer.text.kind === 'refusal' ? REFUSAL_MARKER : STATUS_MARKER;
  await run.forge.upsertComment(answer.thread, marker, run.redact(body));
}
