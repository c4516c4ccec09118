import type { WaitingPullRequest } from '../core/feedback/pull-request-now.ts';
import type { LaneState } from '../core/lane/state/state.ts';
import {
  findNextPull,
  type Train,
  type TrainPull,
  type AutoMerge,
  explainNotArmed,
  isPushedByOthers,
} from '../core/train/train.ts';
import { isLaneId } from '../core/tasks/ids.ts';
import { getErrorText } from '../errors.ts';
import { renderTrainPart, withTrainPart } from '../report/sentences/train.ts';
import type { PublishDeps } from './deps.ts';

/**
 * Enables auto-merge for the next pull request if the settings say so, and updates the merge order on the pages of all
 * open pull requests, with one request, and a second one if a page changes. Skips the pages if there are at most
 * `alone` pull requests and auto-merge is off.
 */
export async function publishTrain(deps: PublishDeps, seen: Train, alone: number): Promise<Train> {
  const { forge, redact } = deps;
  const train = await armNextPull(deps, seen);
  if (train.pulls.length > alone || train.autoMerge !== null)
    await forge.rewriteBodies(
      train.pulls.map(({ number }) => number),
      (number, body) => withTrainPart(body, redact(renderTrainPart(train, number))),
    );
  return train;
}

/**
 * Arms GitHub's auto-merge for the pull request that is next, where the settings and its lane allow that, unless
 * another one is armed that can be merged, also by a run that worked at the same time. One that an earlier run armed is
 * disarmed if others have pushed since. Nothing is merged here.
 */
async function armNextPull(deps: PublishDeps, train: Train): Promise<Train> {
  const { autoMerge: prevents } = deps.config;
  if (prevents === null) return train;
  const ended = (autoMerge: AutoMerge): Train => ({ ...train, autoMerge });
  const armedBefore = train.pulls.filter(({ isArmed }) => isArmed);
  for (const pull of armedBefore) {
    const disarmed = isPushedByOthers(await stateOf(deps, pull), pull.head)
      ? await deps.forge.disarmAutoMerge(pull.branch)
      : null;
    if (disarmed?.kind === 'refused') return ended({ number: pull.number, kind: 'still-armed', detail: disarmed.why });
    if (disarmed?.value === true) return ended({ number: pull.number, kind: 'person', detail: '' });
  }
  const mergeable = armedBefore.find(({ obstacle }) => obstacle === null || obstacle === 'unknown');
  if (mergeable !== undefined) return ended({ number: mergeable.number, kind: 'armed', detail: '' });
  const next = findNextPull(train);
  if (next?.obstacle !== null) return train;
  const { number, branch, head } = next;
  const prevented = explainNotArmed(await stateOf(deps, next), next, prevents);
  if (prevented !== null) return ended(prevented);
  const before = await listArmedSince(deps, train);
  const other = before?.find((one) => one.number !== number);
  if (before === null || other !== undefined)
    return other === undefined ? train : ended({ number: other.number, kind: 'armed', detail: '' });
  const armed = await deps.forge.armAutoMerge(branch, head);
  if (armed.kind === 'refused') return ended({ number, kind: 'refused', detail: armed.why });
  deps.log.info(`Auto-merge of pull request #${String(number)}: ${armed.value.kind}`);
  // Another run may have armed one after the last look. The later of the two sees the other's and switches its own off.
  const isFirst = armed.value.kind !== 'armed' || isArmedFirst(await listArmedSince(deps, train), number);
  if (!isFirst && (await deps.forge.disarmAutoMerge(branch)).kind !== 'refused') return train;
  return ended({ number, ...armed.value });
}

/** Returns the pull requests that were not armed when the gate read them and are now; null if GitHub does not say. */
async function listArmedSince(
  { forge, config, log }: PublishDeps,
  { pulls }: Train,
): Promise<readonly WaitingPullRequest[] | null> {
  const before = new Set(pulls.flatMap(({ number, isArmed }) => (isArmed ? [number] : [])));
  try {
    const { branchPrefix: prefix } = config;
    const { open } = await forge.waitingPullRequests(prefix);
    // A person may have a branch with the same prefix.
    return open.filter(
      ({ number, branch, isArmed }) => isArmed && !before.has(number) && isLaneId(branch.slice(prefix.length)),
    );
  } catch (error) {
    log.info(`Auto-merge is left to the next run: ${getErrorText(error)}`);
    return null;
  }
}

/**
 * Returns true if a pull request was armed before all others, so that of several runs at once one leaves its own on. Of
 * two armed in the same second, neither is first.
 */
function isArmedFirst(armed: readonly WaitingPullRequest[] | null, number: number): boolean {
  const since = armed?.find((one) => one.number === number)?.armedAt ?? Infinity;
  return armed?.every((one) => one.number === number || (one.armedAt ?? 0) > since) ?? false;
}

async function stateOf({ store, config }: PublishDeps, { branch }: TrainPull): Promise<LaneState | null> {
  const { lane } = await store.restore(branch.slice(config.branchPrefix.length));
  return lane.kind === 'found' ? lane.state : null;
}
