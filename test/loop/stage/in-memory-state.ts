import { createHash } from 'node:crypto';
import { emptySnapshot, type Snapshot } from '../../../src/core/snapshot/snapshot.ts';
import type {
  Conversations,
  CopyStore,
  PartialCopy,
  RestoredCopy,
  SavedCopy,
  Seal,
  Sealed,
  SnapshotPlace,
  StateUpdate,
  SnapshotSwap,
  WriteResult,
} from '../../../src/ports/state.ts';
import { createMemoryPlace, createShared, writeTo, type SharedSnapshot } from './snapshot-place.ts';

/**
 * The data of a project that is kept between runs: its state on a ref, its conversations, and the entries of its cache.
 */
export interface Kept {
  readonly refs: FakeRefs;
  readonly cache: FakeCache;
  readonly conversations: FakeConversations;
}

interface FakeConversations extends Conversations {
  readonly contents: Map<string, Uint8Array>;
}

interface FakeRefs extends SnapshotPlace {
  readonly shared: SharedSnapshot;
  /** The reasons why verbs fail, until they are removed. `readAgain` is a read by a machine that has read before. */
  readonly outages: Map<'read' | 'readAgain' | 'write', string>;
  /** The refusal of every write from now on, or null to accept them. */
  refusal: string | null;
  /** Changes the files as a person or another version would, without a lease. */
  put(change: (files: Map<string, string>) => void): void;
  /** Returns the text at a path, or an empty string if none. */
  textAt(path: string): string;
  /** True if nothing was written since. */
  isCurrent(update: StateUpdate): boolean;
  /** Plays the server's part of a push that includes the state. */
  land(update: StateUpdate): Promise<WriteResult>;
}

interface FakeCache extends CopyStore {
  readonly saved: Map<string, PartialCopy>;
  /** Set if the cache's entries are signed with this run's key. */
  signed: boolean;
  readonly outages: Map<'restore' | 'save', string>;
}

export function createKept(): Kept {
  return { refs: createRefs(), cache: createCache(), conversations: createConversations() };
}

function createRefs(): FakeRefs {
  const shared = createShared();
  const place = createMemoryPlace(shared);
  const outages: FakeRefs['outages'] = new Map();
  const byTarget = new Map<string, SnapshotSwap>();
  const refs: FakeRefs = {
    name: 'ref',
    shared,
    outages,
    refusal: null,
    put: (change) => {
      const files = new Map(shared.snapshot);
      change(files);
      shared.messages.push('by hand');
      shared.head = `by-hand-${String(shared.messages.length)}`;
      shared.snapshot = files;
    },
    textAt: (path) => shared.snapshot.get(path) ?? '',
    carry: (swap) => ({
      ref: 'refs/ralph/v2/state',
      expected: swap.from.head,
      writeTarget: () => {
        const head = `target-${String(byTarget.size + 1)}`;
        byTarget.set(head, swap);
        return Promise.resolve(head);
      },
    }),
    isCurrent: ({ expected }) => expected === shared.head,
    land: async (update) => {
      const swap = byTarget.get(await update.writeTarget({ gitFolder: '' }));
      if (swap === undefined) throw new Error('No update has this target.');
      return refs.write(swap);
    },
    read: async (known) => {
      const why = outages.get('read') ?? (known === null ? undefined : outages.get('readAgain'));
      return why === undefined ? place.read(known) : { kind: 'unavailable', why };
    },
    write: (swap) => {
      const why = outages.get('write');
      if (why !== undefined) return Promise.resolve({ kind: 'unavailable', why });
      if (refs.refusal !== null) return Promise.resolve({ kind: 'refused', why: refs.refusal });
      return Promise.resolve(writeTo(shared, swap));
    },
    settle: place.settle,
  };
  return refs;
}

/** Removes everything. */
export function forget({ shared }: FakeRefs): void {
  const nothing: Snapshot = emptySnapshot;
  shared.head = null;
  shared.snapshot = nothing;
}

/** Seals a text by naming the key and the purpose; the real seal takes time that these tests do not allow. */
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

function createConversations(): FakeConversations {
  const contents: FakeConversations['contents'] = new Map();
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
