import { dirname, join } from 'node:path';
import type { World } from '../world.ts';

/** Where rooms may be made, the usual place first: on a disk, or else beside the runner's checkouts. */
export function roomFolders({ RUNNER_TEMP }: World['environment']): readonly [string, ...string[]] {
  return ['/var/tmp', ...(RUNNER_TEMP === undefined ? [] : [join(dirname(RUNNER_TEMP), '_ralph')])];
}

/** Where user ids are taken: it is gone after a restart. */
export const RESERVATIONS = '/run';
