import { view } from '../core/circuit.ts';
import { initialState } from '../core/state.ts';
import { callsRemaining } from '../core/windows.ts';
import type { Intake } from '../gate/intake.ts';
import { REFUSAL_MARKER, renderAnswer, STATUS_MARKER } from '../report/status-comment.ts';
import type { PublishRun } from './publish.ts';
import { tasksWithProgress } from './report-of.ts';

/** Answers a command in the thread where it was given: one sticky comment, updated. */
export async function publishAnswer(run: PublishRun, intake: Extract<Intake, { kind: 'end' }>): Promise<void> {
  const { answer, tasks } = intake;
  if (answer === null) return;
  const now = run.clock.now();
  const { policy, taskLabel } = run.config;
  const lane = intake.lane?.id ?? 'queue';
  const state = intake.state ?? initialState(lane, now);
  const circuit = view(state.circuit, policy.circuit, now);
  const body = renderAnswer(answer.text, {
    lane,
    state: intake.state,
    tasks: tasksWithProgress(tasks, state),
    circuit: circuit.kind,
    probeAt: circuit.kind === 'open' ? circuit.probeAt : null,
    callsRemaining: callsRemaining(state.windows, policy, now),
    pullRequest: intake.lane?.pullRequest ?? null,
    taskLabel,
    runUrl: run.context.runUrl,
    now,
  });
  const marker = answer.text.kind === 'refusal' ? REFUSAL_MARKER : STATUS_MARKER;
  await run.forge.upsertComment(answer.thread, marker, run.redact(body));
}
