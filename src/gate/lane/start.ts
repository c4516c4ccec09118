import type { Forge, PullRequest } from '../../ports/forge.ts';
import type { LaneStart } from '../../ports/repository.ts';

/** The start of a lane's branch for this run. */
export interface FoundStart {
  readonly start: LaneStart;
  /** The open pull request; null also for a closed one. */
  readonly pullRequest: PullRequest | null;
  /** True if the branch is gone and was never merged: work that the state calls done is lost. */
  readonly workIsLost: boolean;
  /**
   * The person who closed the lane's pull request without merging it and left the branch, which is a refusal; null
   * otherwise.
   */
  readonly closedBy: string | null;
}

/** Finds where the lane's branch begins, from the remote branch and its newest pull request. */
export async function findStart(lane: {
  readonly forge: Forge;
  readonly branch: string;
  readonly remoteHead: string | null;
  readonly lastHead: string | null;
}): Promise<FoundStart> {
  const { branch, remoteHead } = lane;
  if (remoteHead === null && lane.lastHead === null)
    return { start: { kind: 'fresh' }, pullRequest: null, workIsLost: false, closedBy: null };

  const pullRequest = await lane.forge.pullRequestOf(branch);
  const merged = pullRequest?.state === 'merged';
  if (remoteHead === null) return { start: { kind: 'fresh' }, pullRequest: null, workIsLost: !merged, closedBy: null };
  if (merged && pullRequest.headSha === remoteHead)
    return { start: { kind: 'restart', mergedHead: remoteHead }, pullRequest: null, workIsLost: false, closedBy: null };
  return {
    start: { kind: 'continue', remoteHead },
    pullRequest: pullRequest?.state === 'open' ? pullRequest : null,
    workIsLost: false,
    closedBy:
      pullRequest?.state === 'closed' ? `pull request #${String(pullRequest.number)}, closed without merging` : null,
  };
}
