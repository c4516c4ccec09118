import type { ActionDeps, RunEnd } from './deps.ts';
import { reportOfDismissed } from './dismissed.ts';
import { createRecording } from './recording.ts';

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
