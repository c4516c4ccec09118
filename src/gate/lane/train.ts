import type { WaitingPullRequest } from '../../core/feedback/pull-request-now.ts';
import { isLaneId } from '../../core/tasks/ids.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { type ComparedPull, type Train, orderMergeTrain } from '../../core/train/train.ts';
import { getErrorText } from '../../errors.ts';
import type { ObjectId } from '../../core/evidence.ts';
import { emptySnapshot, type Snapshot } from '../../core/snapshot/snapshot.ts';
import {
  rememberPullsToo,
  type ClosedPull,
  listMergesToJudge,
  listStoredPulls,
  type RevertCommit,
  REVERT_WITHIN_MS,
  withPullNews,
} from '../../core/snapshot/stored-pull.ts';
import type { GateDeps } from '../deps.ts';
import { findBaseBranch } from './restore.ts';

/** Maximum number of pull requests whose end is requested by number. */
const MAX_OLDER = 50;

/** The open pull requests of Ralph's branches; `train` is null if they were not read. */
export interface ExaminedTrain {
  readonly open: readonly WaitingPullRequest[];
  readonly train: Train | null;
  readonly warnings: readonly string[];
}

/**
 * Reads all open pull requests of Ralph's branches, also those of finished issues, with one request, and orders them.
 * An unreadable list is a warning.
 */
export async function examineTrain(deps: GateDeps): Promise<ExaminedTrain> {
  const { answers, autoMerge, branchPrefix, dashboard } = deps.config;
  if (!answers.checks && autoMerge === null && !dashboard) return { open: [], train: null, warnings: [] };
  try {
    const listed = await deps.forge.waitingPullRequests(branchPrefix);
    // A person may have a branch with the same prefix, so keep only those that name a lane.
    const open = listed.open.filter(({ branch }) => isLaneId(branch.slice(branchPrefix.length)));
    const compared = await compare(deps, open);
    // Without a verification, no pull request can be stale, so compare nothing.
    const known = deps.config.policy.verifies
      ? compared
      : (compared?.map((one) => ({ ...one, changedInBase: [] })) ?? null);
    const asksForBase = open.some((one) => one.isBehind || one.mustBeCurrent || one.mergeable === 'conflicting');
    const base = asksForBase ? await findBaseBranch(deps) : (open[0]?.baseBranch ?? '');
    return { open, train: { ...orderMergeTrain(open, known, base), closed: listed.closed }, warnings: [] };
  } catch (error) {
    const why = `The open pull requests could not be read: ${completeSentence(getErrorText(error))}`;
    return { open: [], train: null, warnings: [why] };
  }
}

/**
 * Compares the pull requests into the base branch of the oldest one. Compares a single one only if a rule requires it
 * to be up to date.
 */
async function compare(
  { repository, log }: Pick<GateDeps, 'repository' | 'log'>,
  open: readonly WaitingPullRequest[],
): Promise<readonly ComparedPull[] | null> {
  const byAge = open.toSorted((one, other) => one.createdAt - other.createdAt);
  const pulls = byAge.filter(({ baseBranch }) => baseBranch === byAge[0]?.baseBranch);
  const [oldest] = pulls;
  if (oldest === undefined || (pulls.length < 2 && !oldest.mustBeCurrent)) return [];
  try {
    return await repository.compareOpen({ base: { branch: oldest.baseBranch, tip: oldest.base }, pulls });
  } catch (error) {
    log.info(`The open pull requests could not be compared: ${completeSentence(getErrorText(error))}`);
    return null;
  }
}

/**
 * Returns the closed pull requests of the train, and those that the last known snapshot records as open but that are
 * not listed. Reads these by number with one request; if it fails, the next run sends it again. A merge commit that a
 * person has edited comes without its message.
 */
export async function withOlderEnds(
  { forge, store, repository }: Pick<GateDeps, 'forge' | 'store' | 'repository'>,
  { pulls, closed }: Train,
): Promise<readonly ClosedPull[]> {
  const snapshot = store.lastSeen() ?? emptySnapshot;
  const listed = new Set([...pulls, ...closed].map(({ number }) => number));
  const missing = listStoredPulls(snapshot)
    .filter(({ number, end }) => end === null && !listed.has(number))
    .map(({ number }) => number);
  const older = missing.length === 0 ? [] : await forge.closedAmong(missing.slice(0, MAX_OLDER)).catch(() => []);
  const ended = [...closed, ...older];
  const judged = listMergesToJudge(snapshot, ended);
  const edited = new Set(judged.length === 0 ? [] : await repository.editedMerges(judged));
  return ended.map((one) => ({
    ...one,
    commits: one.commits.map((commit) => (edited.has(commit.id) ? { ...commit, message: '' } : commit)),
  }));
}

/** Stores how known pull requests ended. Makes no request if the last known snapshot already contains it all. */
export async function rememberEnds(
  { store, context }: Pick<GateDeps, 'store' | 'context'>,
  closed: readonly ClosedPull[],
): Promise<void> {
  const seen = store.lastSeen();
  const news = { closed, reverts: [] };
  if (seen === null || withPullNews(seen, news) === seen) return;
  const message = `pull requests: run ${context.runId} saw how they ended`;
  // Ignore a failure, because the next run finds the same ends again.
  await store.update(rememberPullsToo((snapshot) => ({ snapshot, message, answer: null }), null, news));
}

/**
 * Returns the reverts on a base branch if a known pull request was merged lately. Runs that work may be rare, so the
 * search covers twice the time in which a revert matters.
 */
export async function findReverts(
  { repository, clock }: Pick<GateDeps, 'repository' | 'clock'>,
  snapshot: Snapshot,
  base: ObjectId,
): Promise<readonly RevertCommit[]> {
  const merged = listStoredPulls(snapshot).flatMap(({ end, reverted }) =>
    end?.kind === 'merged' && reverted === null ? [end.at] : [],
  );
  const since = clock.now() - 2 * REVERT_WITHIN_MS;
  return merged.some((at) => at >= since) ? repository.revertsIn(base, since) : [];
}
