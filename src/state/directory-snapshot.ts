import { isEarlierName, migrated } from '../core/snapshot/migration.ts';
import { parseSnapshot, serializeSnapshot } from '../core/snapshot/snapshot.ts';
import { messageOf } from '../errors.ts';
import type { PlacedSnapshot, SnapshotPlace, Unavailable } from '../ports/state.ts';
import type { GenerationFiles } from './generation-files.ts';

/** Under which the snapshot is kept. */
const NAME = 'snapshot';

/** The snapshot in a folder of this machine, as one file for each of its last generations. */
export function createDirectorySnapshot(files: GenerationFiles, now: () => number): SnapshotPlace {
  /** What of earlier versions is part of what was read last. */
  let earlier: readonly string[] = [];
  return {
    name: 'directory',
    read: async (known) => {
      const found = await files.read(NAME);
      if (found.kind === 'unavailable') return found;
      if (found.kind === 'absent') return readEarlier();
      if (found.head === known) return { kind: 'known' };
      return { kind: 'snapshot', head: found.head, snapshot: parseSnapshot(found.text) };
    },
    write: ({ from: { head }, snapshot }) => files.write(NAME, head, serializeSnapshot(snapshot)),
    // No branch is pushed into a folder.
    carry: () => null,
    settle: async () => {
      try {
        for (const name of earlier) await files.remove(name);
      } catch {
        // What is left is never read again.
      }
      earlier = [];
    },
  };

  /** What earlier versions kept, each in files of its own, as a snapshot that is not written yet. */
  async function readEarlier(): Promise<PlacedSnapshot | Unavailable> {
    try {
      earlier = (await files.names()).filter(isEarlierName);
    } catch (error) {
      return { kind: 'unavailable', why: messageOf(error) };
    }
    const texts = new Map<string, string>();
    for (const name of earlier) {
      const found = await files.read(name);
      if (found.kind === 'unavailable') return found;
      if (found.kind === 'found') texts.set(name, found.text);
    }
    return { kind: 'snapshot', head: null, snapshot: migrated(texts, now()) };
  }
}
