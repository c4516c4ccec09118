import type { LaneId } from '../../core/tasks/ids.ts';
import type { Conversations, Unavailable } from '../../ports/state.ts';
import { lastLinesOfError } from '../git.ts';
import { createRefNetwork, fetchRefs, type Connection, type RefNetworkOptions } from './ref-network.ts';
import { writeTreeCommit } from './stored-tree.ts';

export interface RefConversationsOptions extends RefNetworkOptions {
  /** Maximum size of a conversation, in bytes, for both reading and writing. */
  readonly maxBytes: number;
}

type ReadConversation = Awaited<ReturnType<Conversations['read']>>;
type WrittenConversation = Awaited<ReturnType<Conversations['write']>>;

const FILE_NAME = 'transcript';

/**
 * Stores each lane's conversation as a ref of a repository: a commit without a parent, so that no older one is kept.
 */
export function createRefConversations(options: RefConversationsOptions): Conversations {
  const { url, now, maxBytes } = options;
  const network = createRefNetwork(options);
  return {
    read: (lane) =>
      network.operation(async (remote) => {
        const found = await fetchConversation(remote, conversationRefOf(lane));
        return found.kind === 'absent' ? fetchConversation(remote, `refs/ralph/state/${lane}-transcript`) : found;
      }),
    write: async (lane, content) => {
      if (content.length > maxBytes)
        return { kind: 'not-kept', why: `it is larger than ${String(Math.floor(maxBytes / (1024 * 1024)))} MiB` };
      const written = await network.operation((remote) => pushConversation(remote, lane, content));
      return written.kind === 'unavailable' ? { kind: 'not-kept', why: written.why } : written;
    },
  };

  async function fetchConversation(remote: Connection, ref: string): Promise<ReadConversation> {
    const fetched = await fetchRefs(remote, url, [ref]);
    // Treat an unclear answer as an absent conversation, which costs at most that conversation.
    if (fetched.exitCode === 1 && fetched.stderr.trim() === '') return { kind: 'absent' };
    if (fetched.exitCode !== 0) return network.unavailable(lastLinesOfError(fetched.stderr));
    const file = `${ref}:${FILE_NAME}`;
    const size = await remote.git.answer(['cat-file', '-s', file]);
    if (size.exitCode !== 0) return { kind: 'absent' };
    if (Number(size.stdout.toString()) > maxBytes) return unusable('the stored transcript is too large');
    const { exitCode, stdout } = await remote.git.answer(['cat-file', 'blob', file]);
    return exitCode === 0 ? { kind: 'found', content: stdout } : unusable('the stored transcript is not a file');
  }

  async function pushConversation(
    remote: Connection,
    lane: LaneId,
    content: Uint8Array,
  ): Promise<WrittenConversation | Unavailable> {
    const commit = await writeTreeCommit(network.objectsFolder, {
      files: new Map([[FILE_NAME, content]]),
      subject: `ralph conversation of ${lane}`,
      trailers: [],
      parent: null,
      now: now(),
    });
    // The state names the valid conversation, so compare nothing here.
    const pushed = await remote.ask('push', [
      '--porcelain',
      '--no-verify',
      '--no-follow-tags',
      url,
      `+${commit}:${conversationRefOf(lane)}`,
    ]);
    return pushed.exitCode === 0 ? { kind: 'written' } : network.unavailable(lastLinesOfError(pushed.stderr));
  }
}

function unusable(why: string): Unavailable {
  return { kind: 'unavailable', why };
}

function conversationRefOf(lane: LaneId): string {
  return `refs/ralph/v2/conversations/${lane}`;
}
