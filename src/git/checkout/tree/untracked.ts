import type { ObjectId } from '../../../core/evidence.ts';
import { readRegular } from '../../regular-files.ts';
import type { PrivateRepository } from '../private-repository.ts';
import { copyIndex } from '../workspace.ts';

/** The agent's index and HEAD, and the ignored files that the lane's tip tracks. */
interface AgentIndex {
  readonly agentIndex: string;
  readonly trackedAndIgnored: readonly string[];
  readonly head: ObjectId | null;
  readonly tip: ObjectId;
}

/**
 * Returns the tree without ignored files that the agent has untracked with `git rm --cached`. An index of another
 * branch, or one that git cannot read, untracks nothing.
 */
export async function dropUntracked(
  { git, withIndex }: PrivateRepository,
  tree: ObjectId,
  { agentIndex, trackedAndIgnored, head, tip }: AgentIndex,
): Promise<ObjectId> {
  if (trackedAndIgnored.length === 0 || head === null) return tree;
  return withIndex('empty', async (indexFile) => {
    const variables = { GIT_INDEX_FILE: indexFile };
    await copyIndex(agentIndex, indexFile);
    const kept = new Set(await git.names(['ls-files', '-z', '--cached'], { variables }).catch(() => []));
    const dropped = trackedAndIgnored.filter((path) => !kept.has(path));
    if (kept.size === 0 || dropped.length === 0) return tree;
    const isOfLane = head === tip || (await git.answer(['merge-base', '--is-ancestor', tip, head])).exitCode === 0;
    if (!isOfLane) return tree;
    await git.text(['read-tree', tree], { variables });
    const input = dropped.map((path) => `${path}\0`).join('');
    await git.text(['update-index', '-z', '--force-remove', '--stdin'], { variables, input });
    return await git.text(['write-tree'], { variables });
  });
}

/** Returns the paths that the agent's index leaves out of the work tree, as `git sparse-checkout` does. */
export async function listHiddenPaths({ git, withIndex }: PrivateRepository, agentIndex: string): Promise<Set<string>> {
  return withIndex('empty', async (indexFile) => {
    await copyIndex(agentIndex, indexFile);
    const question = ['ls-files', '-t', '-z', '--cached'];
    const listed = await git.names(question, { variables: { GIT_INDEX_FILE: indexFile } }).catch(() => []);
    return new Set(listed.filter((record) => record.startsWith('S ')).map((record) => record.slice(2)));
  });
}

/** Returns true if the first index has fewer entries than the second one; false if either cannot be read. */
export async function hasFewerEntries(first: string | null, second: string): Promise<boolean> {
  if (first === null) return false;
  const [few, many] = await Promise.all([countEntries(first), countEntries(second)]);
  return few !== null && many !== null && few < many;
}

/** Returns the number of entries that an index file begins with. */
async function countEntries(indexFile: string): Promise<number | null> {
  const found = await readRegular(indexFile);
  return found === null || found.bytes.length < 12 ? null : found.bytes.readUInt32BE(8);
}
