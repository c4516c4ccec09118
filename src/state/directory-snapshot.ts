import { isEarlierName, migrateSnapshot } from '../core/snapshot/migration.ts';
import { parseSnapshot, serializeSnapshot } from '../core/snapshot/snapshot.ts';
import { getErrorMessage } from '../errors.ts';
import type { PlacedSnapshot, SnapshotPlace, Unavailable } from '../ports/state.ts';
import type { GenerationFiles } from './generation-files.ts';

/** The name under which the snapshot is kept. */
const NAME = 'snapshot';

/**
 * Creates a store that keeps the snapshot in a folder of this machine, with one file for each of its last generations.
 */
export function createDirectorySnapshot(files: GenerationFiles, now: () => number): SnapshotPlace {
  /** The names of earlier versions' texts that are part of the snapshot read last. */
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
    // A folder's update cannot be part of the push of a branch.
    carry: () => null,
    settle: async () => {
      try {
        for (const name of earlier) await files.remove(name);
      } catch {
        // Ignore errors: files that are left are never read again.
      }
      earlier = [];
    },
  };

  /** Returns the data that earlier versions kept in separate files, as a snapshot that is not written yet. */
  async function readEarlier(): Promise<PlacedSnapshot | Unavailable> {
    try {
      earlier = (await files.names()).filter(isEarlierName);
    } catch (error) {
      return { kind: 'unavailable', why: getErrorMessage(error) };
    }
    const texts = new Map<string, string>();
    for (const name of earlier) {
      const found = await files.read(name);
      if (found.kind === 'unavailable') return found;
      if (found.kind === 'found') texts.set(name, found.text);
    }
    return { kind: 'snapshot', head: null, snapshot: migrateSnapshot(texts, now()) };
  }
}
