import type { Config } from '../config/config.ts';
import type { HandoffFolder } from '../ports/handoff.ts';
import type { RunIdentity } from '../runner/run-context.ts';

/** Opens the folder of the handoff input. */
export async function openHandoff({ handoff }: Pick<Config, 'handoff'>): Promise<HandoffFolder> {
  const { createHandoffFolder } = await import('../runner/handoff-folder.ts');
  return createHandoffFolder(handoff.path);
}

/**
 * Returns the identity of this run for others: in the publishing job it is the gate's, whose claim and reservation it
 * ends. Throws a UserError if that is unknown.
 */
export async function readIdentity(config: Config, identity: RunIdentity): Promise<RunIdentity> {
  if (config.handoff.phase !== 'publish') return identity;
  const { takeIntake } = await import('../run/jobs/parcels.ts');
  const { handed } = await takeIntake(await openHandoff(config), config.handoff);
  return { ...identity, runTag: handed.runTag };
}
