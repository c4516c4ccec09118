import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { initialState, serializeState, type LaneState } from '../../../src/core/lane/state.ts';
import type { CellName, CellStore } from '../../../src/ports/state.ts';
import { createDirectoryCells } from '../../../src/state/directory-cells.ts';
import { createCellPlace, createCells } from '../../loop/stage/in-memory-cells.ts';
import { noon } from '../core/core-fixtures.ts';

/** Cells that several machines reach. */
export interface SharedCells extends AsyncDisposable {
  /** The cells as one more machine sees them. */
  machine(): CellStore;
}

/** Every place whose cells must behave the same. */
export const places: readonly { readonly place: string; open(): Promise<SharedCells> }[] = [
  {
    place: 'memory',
    open: () => {
      const shared = createCellPlace();
      return Promise.resolve({ machine: () => createCells(shared), [Symbol.asyncDispose]: () => Promise.resolve() });
    },
  },
  {
    place: 'directory',
    open: async () => {
      const folder = await mkdtemp(join(tmpdir(), 'ralph-cells-'));
      return {
        machine: () => createDirectoryCells({ folder, now: Date.now }),
        [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
      };
    },
  },
];

/** Puts any text into a cell, whatever is there. */
export async function put(cells: CellStore, name: CellName, text: string): Promise<void> {
  const [found] = await cells.read([name]);
  const written = await cells.write(name, found?.kind === 'found' ? found.head : null, text);
  if (written.kind !== 'written') throw new Error(JSON.stringify(written));
}

/** The text of a cell; null when there is none. */
export async function textOf(cells: CellStore, name: CellName): Promise<string | null> {
  const [found] = await cells.read([name]);
  return found?.kind === 'found' ? found.text : null;
}

/** A readable state of the lane `queue`. */
export function stateOf(sequence: number, change: Partial<LaneState> = {}): LaneState {
  return { ...initialState('queue', noon), sequence, ...change };
}

/** A copy of the lane `queue` to save. */
export function copyOf(
  sequence: number,
  change: Partial<LaneState> = {},
): { readonly lane: string; readonly sequence: number; readonly document: string; readonly transcript: null } {
  return { lane: 'queue', sequence, document: serializeState(stateOf(sequence, change)), transcript: null };
}
