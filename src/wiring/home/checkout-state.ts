import { join } from 'node:path';
import { checkOwnFolder } from '../../home/own-folder.ts';
import { STATE } from '../../home/run-claim.ts';
import type { CellStore } from '../../ports/state.ts';
import { createDirectoryCells } from '../../state/directory-cells.ts';
import { systemClock } from '../world.ts';

/** `.ralph/state` of a checkout; `check` throws where a part of the way there is a link or not a folder. */
export function stateFolder(top: string): { readonly folder: string; readonly check: () => void } {
  return {
    folder: join(top, ...STATE),
    check: () => {
      checkOwnFolder(top, STATE);
    },
  };
}

/** The cells of a checkout, which are never read or written through a link. */
export function checkoutCells(top: string): CellStore {
  return createDirectoryCells({ ...stateFolder(top), now: systemClock.now });
}
