import type { ActionDeps, RunEnd } from './deps.ts';
import { reportOfDismissed } from './dismissed.ts';
import { createRecording } from './recording.ts';

/** The whole run: event → gate → loop → publish. Most events of a repository are not for us: they end before the code of the stages is loaded. */
export async function runAction(deps: ActionDeps): Promise<RunEnd> {
  const recording = createRecording(deps);
  const report = reportOfDismissed(deps, recording);
  if (report !== null) return { report, handedOver: null };
  const { runStages } = await import('./flow.ts');
  return runStages(deps, recording);
}
