import type { RiverDeps, RunEnd } from './deps.ts';
import { reportOfDismissed } from './dismissed.ts';
import { createRecording } from './recording.ts';

/** The river: event → gate → loop → publish. Most events of a repository are not for us: they end before the code of the stages is loaded. */
export async function runRiver(deps: RiverDeps): Promise<RunEnd> {
  const recording = createRecording(deps);
  const report = reportOfDismissed(deps, recording);
  if (report !== null) return { report, handedOver: null };
  const { runStages } = await import('./flow.ts');
  return runStages(deps, recording);
}
