import { dirname, join } from 'node:path';
import type { World } from '../world.ts';

/**
 * Returns folders in which sandboxes may be created, the usual one first. If that is not possible on disk, they are
 * next to the runner's checkouts.
 */
export function listSandboxFolders({ RUNNER_TEMP }: World['environment']): readonly [string, ...string[]] {
  return ['/var/tmp', ...(RUNNER_TEMP === undefined ? [] : [join(dirname(RUNNER_TEMP), '_ralph')])];
}

/** The folder in which user ids are reserved. A restart empties it. */
export const RESERVATIONS = '/run';
