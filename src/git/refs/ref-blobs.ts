import type { BlobStore, CellName, Unavailable } from '../../ports/state.ts';
import { lastWords } from '../git.ts';
import { createRefNetwork, fetchRefs, type Connection, type RefNetworkOptions } from './ref-network.ts';
import { commitFile } from './ref-texts.ts';

export interface RefBlobsOptions extends RefNetworkOptions {
  /** More is neither written nor read. */
  readonly maxBytes: number;
}

type ReadBlob = Awaited<ReturnType<BlobStore['read']>>;
type WrittenBlob = Awaited<ReturnType<BlobStore['write']>>;

const FILE_NAME = 'transcript';

/** The blob N as the ref `refs/ralph/state/N-transcript` of a repository: a commit without a parent, so that what it replaces is gone. */
export function createRefBlobs(options: RefBlobsOptions): BlobStore {
  const { url, now, maxBytes } = options;
  const network = createRefNetwork(options);
  return {
    read: (name) => network.operation((remote) => fetchBlob(remote, name)),
    write: async (name, content) => {
      if (content.length > maxBytes)
        return { kind: 'not-kept', why: `it is larger than ${String(Math.floor(maxBytes / (1024 * 1024)))} MiB` };
      const written = await network.operation((remote) => pushBlob(remote, name, content));
      return written.kind === 'unavailable' ? { kind: 'not-kept', why: written.why } : written;
    },
  };

  async function fetchBlob(remote: Connection, name: CellName): Promise<ReadBlob> {
    const fetched = await fetchRefs(remote, url, [`${name}-transcript`]);
    // What cannot be told from silence costs a conversation at most.
    if (fetched.exitCode === 1 && fetched.stderr.trim() === '') return { kind: 'absent' };
    if (fetched.exitCode !== 0) return network.unavailable(lastWords(fetched.stderr));
    const file = `${refOf(name)}:${FILE_NAME}`;
    const size = await remote.git.answer(['cat-file', '-s', file]);
    if (size.exitCode !== 0) return { kind: 'absent' };
    if (Number(size.stdout.toString()) > maxBytes) return unusable('the stored transcript is too large');
    const { exitCode, stdout } = await remote.git.answer(['cat-file', 'blob', file]);
    return exitCode === 0 ? { kind: 'found', content: stdout } : unusable('the stored transcript is not a file');
  }

  async function pushBlob(remote: Connection, name: CellName, content: Uint8Array): Promise<WrittenBlob | Unavailable> {
    const commit = await commitFile([network.objectsFolder], {
      name: `transcript of ${name}`,
      fileName: FILE_NAME,
      content,
      parent: null,
      depth: 1,
      now: now(),
    });
    // The state names the one that counts, so that nothing is to be compared here.
    const pushed = await remote.ask('push', [
      '--porcelain',
      '--no-verify',
      '--no-follow-tags',
      url,
      `+${commit}:${refOf(name)}`,
    ]);
    return pushed.exitCode === 0 ? { kind: 'written' } : network.unavailable(lastWords(pushed.stderr));
  }
}

function unusable(why: string): Unavailable {
  return { kind: 'unavailable', why };
}

function refOf(name: CellName): string {
  return `refs/ralph/state/${name}-transcript`;
}
