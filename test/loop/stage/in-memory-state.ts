import type {
  CellName,
  CellRead,
  CellStore,
  CellWritten,
  CopyStore,
  RestoredCopy,
  SavedCopy,
  StateCopy,
} from '../../../src/ports/state.ts';
import { createCellPlace, createCells } from './in-memory-cells.ts';

/** What is kept of a project between its runs: its refs, and the entries of its cache. */
export interface Kept {
  readonly refs: FakeRefs;
  readonly cache: FakeCache;
}

interface FakeRefs extends CellStore {
  readonly cells: Map<CellName, { readonly head: string; readonly text: string }>;
  /** Why a verb does not work now, until it is taken out again. */
  readonly outages: Map<'read' | 'write' | 'readHead', string>;
  /** What the place says to every write, now and later; null: it takes them. */
  refusal: string | null;
  /** Puts a text there as a person or another version would: without asking. */
  put(name: CellName, text: string): void;
}

interface FakeCache extends CopyStore {
  readonly saved: Map<string, StateCopy>;
  readonly outages: Map<'restore' | 'save', string>;
}

export function createKept(): Kept {
  return { refs: createRefs(), cache: createCache() };
}

function createRefs(): FakeRefs {
  const shared = createCellPlace();
  const cells = createCells(shared);
  const outages: FakeRefs['outages'] = new Map();
  const ask = async <Answer>(
    verb: 'read' | 'write' | 'readHead',
    unavailable: (why: string) => Answer,
    call: () => Promise<Answer>,
  ): Promise<Answer> => {
    const why = outages.get(verb);
    return why === undefined ? call() : unavailable(why);
  };
  const refs: FakeRefs = {
    place: 'ref',
    cells: shared.texts,
    outages,
    refusal: null,
    put: (name, text) => {
      shared.written += 1;
      shared.texts.set(name, { head: `by hand ${String(shared.written)}`, text });
    },
    read: (names) =>
      ask<readonly CellRead[]>(
        'read',
        (why) => names.map(() => ({ kind: 'unavailable', why })),
        () => cells.read(names),
      ),
    write: (name, expected, text) =>
      ask<CellWritten>(
        'write',
        (why) => ({ kind: 'unavailable', why }),
        () =>
          refs.refusal === null
            ? cells.write(name, expected, text)
            : Promise.resolve<CellWritten>({ kind: 'refused', why: refs.refusal }),
      ),
    readHead: (name) =>
      ask<Awaited<ReturnType<CellStore['readHead']>>>(
        'readHead',
        (why) => ({ kind: 'unavailable', why }),
        () => cells.readHead(name),
      ),
  };
  return refs;
}

function createCache(): FakeCache {
  const saved: FakeCache['saved'] = new Map();
  const outages: FakeCache['outages'] = new Map();
  return {
    saved,
    outages,
    restore: async (lane): Promise<RestoredCopy> => {
      const why = outages.get('restore');
      const copy = saved.get(lane);
      if (why !== undefined) return Promise.resolve({ kind: 'unavailable', why });
      return copy === undefined
        ? { kind: 'absent' }
        : { kind: 'found', sequence: copy.sequence, document: copy.document, sessionFolder: copy.sessionFolder };
    },
    save: async (copy): Promise<SavedCopy> => {
      const why = outages.get('save');
      if (why !== undefined) return Promise.resolve({ kind: 'not-kept', why });
      // The newest entry of a lane is the one that was saved last.
      saved.set(copy.lane, copy);
      return { kind: 'saved', where: 'cache' };
    },
  };
}
