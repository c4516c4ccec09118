import type { ObjectId } from '../../core/evidence.ts';
import { findRenamedBranch } from '../../core/people/withdrawal.ts';
import type { Forge, PullRequest } from '../../ports/forge.ts';
import type { Remote } from '../../ports/remote.ts';
import type { LaneStart, Repository } from '../../ports/repository.ts';

/** The start of a lane's branch for this run. */
export interface FoundStart {
  readonly start: LaneStart;
  /** The open pull request; null without one, or if it is closed. */
  readonly pullRequest: PullRequest | null;
  /** True if the branch is gone and was never merged, so that work that the state calls done is lost. */
  readonly workIsLost: boolean;
  /**
   * The person who refused the work by closing the lane's pull request without merging it and leaving the branch;
   * otherwise null, also if the deletion of its base branch closed it.
   */
  readonly closedBy: string | null;
  /** The name to which a person renamed the branch, which closes its pull request, or null if nobody renamed it. */
  readonly renamedTo: string | null;
}

/** Finds where the lane's branch begins, from the remote branch and its newest pull request. */
export async function findStart(lane: {
  readonly forge: Pick<Forge, 'pullRequestOf' | 'wasClosedWithBase'>;
  readonly remote: Pick<Remote, 'branches'>;
  readonly repository: Pick<Repository, 'branchesWith'>;
  readonly branch: string;
  readonly remoteHead: string | null;
  /**
   * The newest published commit, and its branch, which is another one if the prefix was changed; null if nothing was
   * published.
   */
  readonly last: { readonly head: string; readonly branch: string } | null;
  readonly baseBranch: () => Promise<string>;
}): Promise<FoundStart> {
  const { branch, remoteHead, last } = lane;
  const fresh = { start: { kind: 'fresh' }, pullRequest: null, closedBy: null, renamedTo: null } as const;
  if (remoteHead === null) {
    const ended = last === null ? null : ((await lane.forge.pullRequestOf(last.branch))?.state ?? null);
    if (last === null || ended === 'merged') return { ...fresh, workIsLost: false };
    const [branches, base] = await Promise.all([lane.remote.branches(''), lane.baseBranch()]);
    // Renaming a branch closes its pull request, so look for a new name.
    const newName = ended === 'closed' ? await findNewName(lane.repository, { head: last.head, branches, base }) : null;
    return { ...fresh, workIsLost: branches[base] !== last.head, renamedTo: newName };
  }

  const pullRequest = await lane.forge.pullRequestOf(branch);
  const merged = pullRequest?.state === 'merged';
  if (merged && pullRequest.headSha === remoteHead)
    return { ...fresh, start: { kind: 'restart', mergedHead: remoteHead }, workIsLost: false };
  const isRefused =
    pullRequest?.state === 'closed' &&
    ((await isBranch(lane.remote, pullRequest.base)) || !(await lane.forge.wasClosedWithBase(pullRequest.number)));
  return {
    start: { kind: 'continue', remoteHead },
    pullRequest: pullRequest?.state === 'open' ? pullRequest : null,
    workIsLost: false,
    closedBy: isRefused ? `pull request #${String(pullRequest.number)}, closed without merging` : null,
    renamedTo: null,
  };
}

/** Returns true if the remote has a branch of that name. */
export async function isBranch({ branches }: Pick<Remote, 'branches'>, name: string): Promise<boolean> {
  return (await branches(name))[name] !== undefined;
}

/** Returns the branch that has the work of one that is gone, also behind further commits; null if none but the base. */
async function findNewName(
  repository: Pick<Repository, 'branchesWith'>,
  work: { readonly head: ObjectId; readonly branches: Readonly<Record<string, string>>; readonly base: string },
): Promise<string | null> {
  const { head, branches, base } = work;
  const atTip = findRenamedBranch(head, branches, base);
  if (atTip !== null || branches[base] === head) return atTip;
  const found = await repository.branchesWith(head, Object.keys(branches));
  return found.includes(base) ? null : (found[0] ?? null);
}
