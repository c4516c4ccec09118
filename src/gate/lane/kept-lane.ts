import { findPushHold } from '../../core/feedback/pull-request-now.ts';
import { hasWorkLeft as goesOnByItself } from '../../core/snapshot/going-on.ts';
import { toIssueLane, type LaneId, nameOfLane } from '../../core/tasks/ids.ts';
import { UserError } from '../../errors.ts';
import { type RunNotes, createRunNotes } from '../../handover/intake.ts';
import type { Issue } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import type { ReadFeedback } from '../feedback/read.ts';
import { listIssuesWithBranch, type WorkRequest } from '../tasks/sources.ts';
import { findBaseBranch, judgeLane, type KeptLane, loadLane, type RestoredLane } from './restore.ts';
import type { FoundStart } from './start.ts';

/**
 * The stored lane, and the branches of all lanes. `continuable` are the queue's issues whose own lanes have unfinished
 * work.
 */
export interface LaneLookup {
  readonly kept: KeptLane;
  readonly branch: string;
  readonly branches: Readonly<Record<string, string>>;
  /** The head of the lane's remote branch, or null if none. */
  readonly remoteHead: string | null;
  readonly continuable: readonly Issue[];
}

/** Reads the stored data of the lane, and the branches of all lanes. */
export async function readKeptLane(deps: GateDeps, { id, requested, issues }: WorkRequest): Promise<LaneLookup> {
  const { branchPrefix, allowProtectedPaths: allowed } = deps.config;
  const branch = branchPrefix + id;
  // Read the state before the branches: if a run ends between the two, we see its branch, and our claim detects that it
  // saved a newer state.
  const kept = await loadLane({ lane: id, deps });
  const branches = await deps.remote.branches(branchPrefix);
  const { snapshot } = kept;
  const asker = { runTag: deps.runTag, ...deps.context, now: deps.clock.now(), allowed };
  // Unfinished work of a lane is on its branch.
  const isLeft = (lane: LaneId): boolean =>
    branches[branchPrefix + lane] !== undefined && snapshot !== null && goesOnByItself(snapshot, lane, asker);
  const continuable = requested === 'by-queue' ? issues.filter(({ number }) => isLeft(toIssueLane(number))) : [];
  return { kept, branch, branches, remoteHead: branches[branch] ?? null, continuable };
}

/** Restores the lane from its stored data. */
export function restoreFrom(
  { kept, branches, remoteHead }: LaneLookup,
  deps: GateDeps,
  { id, requested }: WorkRequest,
): RestoredLane {
  const restored = judgeLane(kept, {
    lane: id,
    expected: remoteHead !== null,
    elsewhere: requested === 'by-queue' ? listIssuesWithBranch(branches, deps.config) : [],
    deps,
  });
  deps.log.info(`state: ${restored.note}`);
  return restored;
}

/**
 * Throws a UserError if the lane was published on another branch that still exists and is not merged. Two workflows
 * with different prefixes would otherwise do its work twice, each from the other's state.
 */
export async function refuseOtherPrefix(
  { remote, forge }: Pick<GateDeps, 'remote' | 'forge'>,
  { look: { branch }, restored: { state } }: LaneRestoration,
): Promise<void> {
  const known = state.lastRun?.published?.branch ?? branch;
  if (known === branch) return;
  const head = (await remote.branches(known))[known];
  if (head === undefined) return;
  const pullRequest = await forge.pullRequestOf(known);
  if (pullRequest?.state === 'merged' && pullRequest.headSha === head) return;
  throw new UserError(
    'configuration',
    `The work on ${nameOfLane(state.lane)} is on the branch ${known}, and the input \`branch-prefix\` makes it ${branch} in this run. Set the same \`branch-prefix\` in all workflows of the repository. To move to the new one, merge the pull request of ${known}, or close it and delete that branch.`,
  );
}

/** Returns the notes on a restored lane for the report. */
export function buildLaneNotes(
  restored: RestoredLane,
  feedback: Pick<ReadFeedback, 'warnings' | 'checks' | 'standing'>,
  { warnings, notices }: Pick<RunNotes, 'warnings' | 'notices'> = { warnings: [], notices: [] },
): RunNotes {
  return createRunNotes(restored.note, {
    notices,
    warnings: [...restored.warnings, ...feedback.warnings, ...warnings],
    claimedBy: restored.claimedBy,
    checks: feedback.checks,
    held: heldBy(feedback),
  });
}

/** The feedback of a lane whose pull request was not read. */
export const unreadFeedback = { warnings: [], checks: null, standing: null };

function heldBy({ standing }: Pick<ReadFeedback, 'standing'>): RunNotes['held'] {
  const hold = standing === null ? null : findPushHold(standing);
  return standing === null || hold === null ? null : { hold, isDraft: standing.isDraft, refusal: null };
}

export interface LaneRestoration {
  readonly look: LaneLookup;
  readonly restored: RestoredLane;
}

/** Finds where the lane's branch begins, from the commit that its last run published. */
export function findLaneStart(deps: GateDeps, { look, restored }: LaneRestoration): Promise<FoundStart> {
  const { branch, remoteHead } = look;
  const published = restored.state.lastRun?.published ?? null;
  const last = published === null ? null : { branch, ...published };
  const { repository } = deps;
  return deps.findStart({ branch, remoteHead, last, repository, baseBranch: () => findBaseBranch(deps) });
}
