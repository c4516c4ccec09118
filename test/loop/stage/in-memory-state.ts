import { createHash } from 'node:crypto';
import type {
  BlobStore,
  CellHead,
  CellName,
  CellRead,
  CellStore,
  CellWritten,
  CopyStore,
  PartialCopy,
  Passenger,
  RestoredCopy,
  SavedCopy,
  Seal,
  Sealed,
} from '../../../src/ports/state.ts';
import { createCellPlace, createCells } from './in-memory-cells.ts';

/** What is kept of a project between its runs: its refs, and the entries of its cache. */
export interface Kept {
  readonly refs: FakeRefs;
  readonly cache: FakeCache;
  readonly blobs: FakeBlobs;
}

interface FakeBlobs extends BlobStore {
  readonly contents: Map<string, Uint8Array>;
}

interface FakeRefs extends CellStore {
  readonly cells: Map<CellName, { readonly head: string; readonly text: string }>;
  /** Why a verb does not work now, until it is taken out again. */
  readonly outages: Map<'read' | 'write' | 'readHead', string>;
  /** What the place says to every write, now and later; null: it takes them. */
  refusal: string | null;
  /** Puts a text there as a person or another version would: without asking. */
  put(name: CellName, text: string): void;
  carry(name: CellName, expected: CellHead | null, text: string): Passenger;
  /** The server's part in a push that takes a cell along. */
  land(passenger: Passenger): Promise<CellWritten>;
}

interface FakeCache extends CopyStore {
  readonly saved: Map<string, PartialCopy>;
  /** Whether what it gives is signed with this run's key. */
  signed: boolean;
  readonly outages: Map<'restore' | 'save', string>;
}

export function createKept(): Kept {
  return { refs: createRefs(), cache: createCache(), blobs: createBlobs() };
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
  const boarded = new Map<string, { readonly name: CellName; readonly text: string }>();
  const refs: FakeRefs = {
    place: 'ref',
    carry: (name, expected, text) => ({
      ref: `refs/ralph/state/${name}`,
      expected,
      board: () => {
        const head = `boarded-${String(boarded.size + 1)}`;
        boarded.set(head, { name, text });
        return Promise.resolve(head);
      },
    }),
    land: async (passenger) => {
      const boardedAs = boarded.get(await passenger.board({ gitFolder: '' }));
      if (boardedAs === undefined) throw new Error('Nothing is on board.');
      return refs.write(boardedAs.name, passenger.expected, boardedAs.text);
    },
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

/** Closes by saying with which key and for what: the real one needs time that the stage does not give. */
export function sealWith(key: string | null): Seal {
  const head = ({ lane, sessionId }: Sealed): string => `${key ?? ''} ${lane} ${sessionId}\n`;
  return {
    close: (content, of) => {
      const closed = Buffer.concat([Buffer.from(head(of)), content]);
      const sha256 = createHash('sha256').update(closed).digest('hex');
      return Promise.resolve(key === null ? null : { sha256, content: closed });
    },
    open: (content, of) => {
      const text = Buffer.from(content).toString();
      return Promise.resolve(
        key !== null && text.startsWith(head(of))
          ? { kind: 'opened', content: Buffer.from(text.slice(head(of).length)) }
          : { kind: 'refused' },
      );
    },
    sign: (text) => key && `${key} ${text}`,
  };
}

function createBlobs(): FakeBlobs {
  const contents: FakeBlobs['contents'] = new Map();
  return {
    contents,
    read: (name) => {
      const content = contents.get(name);
      return Promise.resolve(content === undefined ? { kind: 'absent' } : { kind: 'found', content });
    },
    write: (name, content) => {
      contents.set(name, content);
      return Promise.resolve({ kind: 'written' });
    },
  };
}

function createCache(): FakeCache {
  const saved: FakeCache['saved'] = new Map();
  const outages: FakeCache['outages'] = new Map();
  const cache: FakeCache = {
    saved,
    signed: true,
    outages,
    restore: async (lane, beyond = -1): Promise<RestoredCopy> => {
      const why = outages.get('restore');
      const copy = saved.get(lane);
      if (why !== undefined) return Promise.resolve({ kind: 'unavailable', why });
      return copy === undefined || copy.sequence <= beyond
        ? { kind: 'absent' }
        : { ...copy, kind: 'found', signed: cache.signed };
    },
    save: async (copy): Promise<SavedCopy> => {
      const why = outages.get('save');
      if (why !== undefined) return Promise.resolve({ kind: 'not-kept', why });
      // The newest entry of a lane is the one that was saved last.
      saved.set(copy.lane, copy);
      return { kind: 'saved', where: 'cache' };
    },
  };
  return cache;
}
