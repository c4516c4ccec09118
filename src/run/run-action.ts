import type { Outcome } from '../core/outcome.ts';
import { QUEUE } from '../core/tasks/ids.ts';
import { UserError } from '../errors.ts';
import { meaningOfRun } from '../gate/event/event-table.ts';
import type { DismissedEvent, Meaning } from '../gate/event/intent.ts';
import type { RunReport } from '../handover/report.ts';
import type { Log } from '../ports/machine.ts';
import { createGateReport } from '../report/at-gate.ts';
import type { ActionDeps, RunEnd } from './deps.ts';
import { createRecording, type Recording } from './recording.ts';

/**
 * Runs the whole action: event → gate → loop → publish. Most events of a repository ask for nothing, and such a run
 * ends before the code of the stages is loaded.
 */
export async function runAction(deps: ActionDeps): Promise<RunEnd> {
  const recording = createRecording(deps);
  const report = reportOfDismissed(deps, recording);
  if (report !== null) return { kind: 'ended', report, beside: [] };
  const { runStages } = await import('./flow.ts');
  return runStages(deps, recording);
}

/**
 * Returns the report of a run whose event asks for nothing, or null if the event may ask for something or is
 * unreadable.
 */
function reportOfDismissed(deps: ActionDeps, recording: Recording): RunReport | null {
  const { phase } = deps.config.handoff;
  const meaning = phase === 'all' || phase === 'gate' ? readableMeaning(deps) : null;
  if (meaning === null || meaning.kind === 'for-us') return null;
  const { config, context, redact, clock, startedAt } = deps;
  const outcome = dismiss(meaning, deps.log);
  recording.tryToRecord('ended');
  const frame = { config, context, redact, now: clock.now() };
  return createGateReport(frame, {
    outcome,
    lane: QUEUE,
    notes: { warnings: [], found: [], before: null, train: null },
    startedAt,
  });
}

/** Returns the meaning of the event, or null if it is unreadable, which the stages report. */
function readableMeaning(deps: ActionDeps): Meaning | null {
  try {
    return meaningOfRun(deps);
  } catch (error) {
    if (error instanceof UserError) return null;
    throw error;
  }
}

function dismiss({ kind, why }: DismissedEvent, log: Log): Outcome {
  if (kind === 'refused') return { kind, reason: 'not_allowed', message: why };
  log.info(`Nothing to do: ${why}`);
  return { kind: 'idle', reason: 'not_for_us' };
}
