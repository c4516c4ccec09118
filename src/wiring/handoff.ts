import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import type { HandoffFolder } from '../ports/handoff.ts';
import type { RunIdentity } from '../runner/run-context.ts';

/**
 * Opens the folder of a hand-over: the one of the lane in the job's inputs or, in a gate that makes a folder for each
 * lane, the one of `lane`.
 */
export async function openHandoff({ handoff }: Pick<Config, 'handoff'>, lane: LaneId | null): Promise<HandoffFolder> {
  const { createHandoffFolder } = await import('../runner/handoff-folder.ts');
  return createHandoffFolder(join(handoff.path, handoff.lane === 'each' ? (lane ?? '') : handoff.lane));
}

/**
 * Returns the identity of this run towards other runs. The jobs after the gate have the gate's identity, because the
 * gate's tag marks the claims and reservations. Throws a UserError if that is unknown.
 */
export async function readIdentity(config: Config, identity: RunIdentity): Promise<RunIdentity> {
  const { phase } = config.handoff;
  if (phase !== 'publish' && phase !== 'finish') return identity;
  const { takeIntake } = await import('../run/jobs/parcels.ts');
  const { handed } = await takeIntake(await openHandoff(config, null), config.handoff);
  return { ...identity, runTag: handed.runTag };
}
