import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import type { HandoffFolder } from '../ports/handoff.ts';
import type { RunIdentity } from '../runner/run-context.ts';

/**
 * Opens the folder of a hand-over: that of the lane in the job's inputs, or that of `lane` in a gate that makes one for
 * each lane.
 */
export async function openHandoff({ handoff }: Pick<Config, 'handoff'>, lane: LaneId | null): Promise<HandoffFolder> {
  const { createHandoffFolder } = await import('../runner/handoff-folder.ts');
  return createHandoffFolder(join(handoff.path, handoff.lane === 'each' ? (lane ?? '') : handoff.lane));
}

/**
 * Returns the identity of this run towards other runs. In the jobs after the gate it is the gate's, because the gate's
 * tag marks the claims and reservations. Throws a UserError if that is unknown.
 */
export async function readIdentity(config: Config, identity: RunIdentity): Promise<RunIdentity> {
  const { phase } = config.handoff;
  if (phase !== 'publish' && phase !== 'finish') return identity;
  const { takeIntake } = await import('../run/jobs/parcels.ts');
  const { handed } = await takeIntake(await openHandoff(config, null), config.handoff);
  return { ...identity, runTag: handed.runTag };
}
