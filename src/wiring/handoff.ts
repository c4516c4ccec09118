import type { Config } from '../config/config.ts';
import type { HandoffFolder } from '../ports/handoff.ts';
import type { RunIdentity } from '../runner/run-context.ts';

/** The folder that the input names. */
export async function openHandoff({ handoff }: Pick<Config, 'handoff'>): Promise<HandoffFolder> {
  const { createHandoffFolder } = await import('../runner/handoff-folder.ts');
  return createHandoffFolder(handoff.path);
}

/** Who this run is for others: in the job that publishes it is who the gate was, whose claim and reservation it ends. Throws a UserError where that cannot be known. */
export async function identityIn(config: Config, identity: RunIdentity): Promise<RunIdentity> {
  if (config.handoff.phase !== 'publish') return identity;
  const { takeIntake } = await import('../river/jobs/parcels.ts');
  const { handed } = await takeIntake(await openHandoff(config), config.handoff);
  return { ...identity, runTag: handed.runTag };
}
