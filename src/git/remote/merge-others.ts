import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import { listFirstNames } from '../../core/text/phrase.ts';
import type { PushResult } from '../../ports/remote.ts';
import { mergeTrees } from '../checkout/merge/auto-merge.ts';
import { FETCH_REFS_ONLY, type Git, buildIdentityVariables } from '../git.ts';
import { createInspection } from '../inspection/inspection.ts';
import { decodeGitName } from '../names.ts';
import { withObjects } from '../objects.ts';
import {
  askRemote,
  buildNetwork,
  findOutgoingProblem,
  type BranchPush,
  readRemote,
  type RemoteOptions,
  pushBranchFrom,
} from './ask-remote.ts';
import { withObjectsStoredIn } from './receive.ts';

/** The ref of the server's branch. */
const THEIRS = 'refs/ralph/theirs';

/** Result of `mergeOthers`. `theirs` is the tip of the branch on the server, which `head` is or merges. */
type MergedOthers =
  | { readonly kind: 'merged'; readonly head: ObjectId; readonly theirs: ObjectId }
  | { readonly kind: 'conflict'; readonly files: readonly string[] }
  /** The branch was rewritten, is gone or has commits of another run, or the server requires a signed merge. */
  | { readonly kind: 'impossible' };

/**
 * Merges commits that people pushed to a branch after `since` into the commits that this run made on it, just as the
 * base is merged. The quarantine then has the merge, too.
 */
async function mergeOthers(
  git: Git,
  options: RemoteOptions,
  { branch, commit, since }: Pick<BranchPush, 'branch' | 'commit' | 'since'>,
): Promise<MergedOthers> {
  const { url, identity, rules, folder, signer, quarantineFolder } = options;
  if (commit !== since && signer?.isWanted === true) return { kind: 'impossible' };
  // Name this commit, so that the server sends only what it lacks.
  await git.text(['update-ref', 'refs/ralph/since', since]);
  const fetched = await askRemote(
    git,
    [...FETCH_REFS_ONLY, url, `+refs/heads/${branch}:${THEIRS}`],
    buildNetwork(options),
  );
  if (fetched.exitCode !== 0) return { kind: 'impossible' };
  const theirs = await git.text(['rev-parse', THEIRS]);
  const isOnTop = (await git.answer(['merge-base', '--is-ancestor', since, theirs])).exitCode === 0;
  const trailersOf = (keys: string, ...commits: readonly string[]): Promise<string> =>
    git.text(['log', '--first-parent', `--format=%(trailers:${keys})`, ...commits]);
  const run = await trailersOf('key=Ralph-Run', '-1', commit);
  // A merge that this run pushed before it was killed is its own, so accept it.
  const isOfOtherRun = (await trailersOf('key=Ralph-Run', `${since}..${theirs}`))
    .split('\n')
    .some((line) => line !== '' && line !== run);
  if (!isOnTop || theirs === since || isOfOtherRun) return { kind: 'impossible' };
  const keep = async (head: ObjectId): Promise<MergedOthers> => {
    const input = `${head}\n^${commit}\n`;
    const packed = await git.answer(['pack-objects', '--quiet', '--stdout', '--revs', '--window=0'], { input });
    await withObjectsStoredIn(git, join(quarantineFolder, 'objects'), (stored) =>
      stored.text(['unpack-objects', '-q'], { input: packed.stdout }),
    );
    return { kind: 'merged', head, theirs };
  };
  if (commit === since) return keep(theirs);
  const scratch = await git.text(['rev-parse', '--absolute-git-dir']);
  const withIndex = <T>(_: 'copy' | 'empty', body: (indexFile: string) => Promise<T>): Promise<T> =>
    body(join(scratch, randomUUID()));
  const place = { repository: { git, withIndex }, inspection: createInspection(null, rules), folder };
  const sides = { fork: since, lane: { branch, commit }, base: { branch: `${branch}@server`, commit: theirs } };
  const {
    markedTree: tree,
    conflicts,
    lockFiles,
  } = await withObjects(git, (objects) => mergeTrees(place, objects, sides));
  if (conflicts.length + lockFiles.length > 0)
    return { kind: 'conflict', files: [...conflicts, ...lockFiles].map(decodeGitName) };
  const trailers = await trailersOf('key=Ralph-Run,key=Signed-off-by', '-1', commit);
  const head = await git.text(
    ['commit-tree', tree, '-p', commit, '-p', theirs, '-m', `Merge what others pushed to ${branch}`, '-m', trailers],
    { variables: buildIdentityVariables(identity) },
  );
  return keep(head);
}

/**
 * Pushes a merge of commits that people pushed to the branch in the meantime; returns null if such a merge is
 * impossible.
 */
export async function pushMerged(
  git: Git,
  options: RemoteOptions,
  push: Pick<BranchPush, 'branch' | 'commit' | 'since'>,
): Promise<PushResult | null> {
  const made = await mergeOthers(git, options, push);
  if (made.kind === 'impossible') return null;
  if (made.kind === 'conflict')
    return {
      kind: 'moved',
      why: `Somebody pushed commits to it that conflict with this run's in ${listFirstNames(made.files)}.`,
    };
  const { head: commit, theirs } = made;
  if (commit !== theirs) {
    const problem = await findOutgoingProblem(git, options, { ...push, commit, theirs });
    if (problem !== null) return { kind: 'moved', why: problem };
    const question = { url: options.url, ref: `refs/heads/${push.branch}`, network: buildNetwork(options) };
    const sent = await pushBranchFrom(git, question, { commit, at: theirs });
    // The answer to a push that arrived can be lost, so read the branch.
    if (sent.kind !== 'pushed' && (await readRemote(git, question)).tip !== commit) return sent;
  }
  options.log.info(
    `People pushed to ${push.branch} in the meantime (${theirs.slice(0, 7)}); their commits and this run's are both on it.`,
  );
  return { kind: 'pushed', merged: commit };
}
