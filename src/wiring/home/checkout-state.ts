import { join } from 'node:path';
import { checkOwnFolder, STATE_FOLDER } from '../../home/own-folder.ts';
import { createGenerationFiles, type GenerationFiles } from '../../state/generation-files.ts';
import { systemClock } from '../world.ts';

/** Returns `.ralph/state` of a checkout; `check` throws if a part of its path is a link or not a folder. */
export function locateStateFolder(top: string): { readonly folder: string; readonly check: () => void } {
  return {
    folder: join(top, ...STATE_FOLDER),
    check: () => {
      checkOwnFolder(top, STATE_FOLDER);
    },
  };
}

/** Returns the files of a checkout's state, which are never read or written through a link. */
export function createCheckoutFiles(top: string): GenerationFiles {
  return createGenerationFiles({ ...locateStateFolder(top), now: systemClock.now });
}
