import type { ObjectId } from '../../core/evidence.ts';
import { isBranchName } from '../../core/refusals/refusal.ts';
import type { BranchDeleted, Remote } from '../../ports/remote.ts';
import type { Git, GitAnswer } from '../git.ts';
import {
  askRemote,
  buildNetwork,
  classifyPushRefusal,
  type Question,
  readRemote,
  rejectPush,
  type RemoteOptions,
} from './ask-remote.ts';
import { nameUnsignedRef } from './sign.ts';

/** Deletes a branch with the prefix, unless it has moved since `head`. */
export async function deleteBranch(
  git: Git,
  options: RemoteOptions,
  { branch, head }: Parameters<Remote['deleteBranch']>[0],
): Promise<BranchDeleted> {
  const { url, branchPrefix } = options;
  const ref = `refs/heads/${branch}`;
  const question = { url, ref, network: buildNetwork(options) };
  if (branchPrefix === '' || !branch.startsWith(branchPrefix) || branch === branchPrefix)
    return rejectPush(
      `"${branch}" does not start with the branch prefix "${branchPrefix}", and no other branch is ever deleted.`,
    );
  if (!isBranchName(branch)) return { kind: 'gone' };
  const there = await readRemote(git, question, [nameUnsignedRef(branch)]);
  if (there.defaultBranch === branch)
    return rejectPush(`"${branch}" is the default branch of ${url}, which is never deleted.`);
  if (there.tip !== null && there.tip !== head) return { kind: 'moved' };
  // Delete refs that a run may have left that was killed while its commits were being signed.
  for (const left of there.beside) await askRemote(git, ['push', '--no-verify', url, `:${left}`], question.network);
  if (there.tip === null) return { kind: 'gone' };
  const removed = await deleteIfAt(git, question, head);
  if (removed.exitCode === 0) return { kind: 'deleted' };
  // Another run, a person or GitHub itself may have deleted it first, so read the branch.
  const { tip } = await readRemote(git, question);
  if (tip === null) return { kind: 'gone' };
  if (tip !== head) return { kind: 'moved' };
  const refused = classifyPushRefusal(removed);
  return refused.kind === 'refused' ? refused : rejectPush(refused.why);
}

/** Deletes the branch if `tip` is still its tip. */
export function deleteIfAt(
  git: Git,
  { url, ref, network }: Question & { readonly ref: string },
  tip: ObjectId,
): Promise<GitAnswer> {
  return git.answer(
    ['push', '--porcelain', '--no-verify', `--force-with-lease=${ref}:${tip}`, url, `:${ref}`],
    network,
  );
}
