import type { LaneState } from '../core/lane/state/state.ts';
import {
  findNextPull,
  type Train,
  type TrainPull,
  type AutoMerge,
  explainNotArmed,
  isPushedByOthers,
} from '../core/train/train.ts';
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
 * another one is armed that can be merged. One that an earlier run armed is disarmed if others have pushed since.
 * Nothing is merged here.
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
  const mergeable = armedBefore.find(({ obstacle }) => obstacle === null);
  if (mergeable !== undefined) return ended({ number: mergeable.number, kind: 'armed', detail: '' });
  const next = findNextPull(train);
  if (next?.obstacle !== null) return train;
  const { number, branch, head } = next;
  const prevented = explainNotArmed(await stateOf(deps, next), next, prevents);
  if (prevented !== null) return ended(prevented);
  const armed = await deps.forge.armAutoMerge(branch, head);
  if (armed.kind === 'refused') return ended({ number, kind: 'refused', detail: armed.why });
  deps.log.info(`Auto-merge of pull request #${String(number)}: ${armed.value.kind}`);
  return ended({ number, ...armed.value });
}

async function stateOf({ store, config }: PublishDeps, { branch }: TrainPull): Promise<LaneState | null> {
  const { lane } = await store.restore(branch.slice(config.branchPrefix.length));
  return lane.kind === 'found' ? lane.state : null;
}
