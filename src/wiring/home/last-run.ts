import { join } from 'node:path';
import type { LastRun } from '../../cli/monitor/terminal-world.ts';
import { readLastRun } from '../../home/own-folder.ts';
import { createGenerationFiles } from '../../state/generation-files.ts';

/** Returns the last `ralph run` of the checkout with this top folder, or null if none. */
export function findLastRun(top: string): Promise<LastRun | null> {
  return readLastRun(createGenerationFiles({ folder: join(top, '.ralph', 'state'), now: () => Date.now() }));
}
