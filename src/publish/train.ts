import { type AutoMerge, explainNotArmed } from '../core/train/auto-merge.ts';
import { findNextPull, type Train } from '../core/train/train.ts';
import { renderTrainPart, withTrainPart } from '../report/sentences/train.ts';
import type { PublishDeps } from './deps.ts';

/**
 * Arms auto-merge for the next pull request if the settings say so, and updates the merge order on the pages of all
 * open pull requests: one request, and a second one if a page changes. Skips the pages if there are at most `alone`
 * pull requests and auto-merge is off.
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
 * another one is armed that can be merged. Nothing is merged here.
 */
async function armNextPull(deps: PublishDeps, train: Train): Promise<Train> {
  const { autoMerge: prevents, branchPrefix } = deps.config;
  const next = findNextPull(train);
  if (prevents === null || next?.obstacle !== null) return train;
  const { number, branch, head } = next;
  const ended = (autoMerge: AutoMerge): Train => ({ ...train, autoMerge });
  const armedBefore = train.pulls.find(({ isArmed, obstacle }) => isArmed && obstacle === null);
  if (armedBefore !== undefined) return ended({ number: armedBefore.number, kind: 'armed', detail: '' });
  const restored = (await deps.store.restore(branch.slice(branchPrefix.length))).lane;
  const prevented = explainNotArmed(restored.kind === 'found' ? restored.state : null, next, prevents);
  if (prevented !== null) return ended(prevented);
  const armed = await deps.forge.armAutoMerge(branch, head);
  if (armed.kind === 'refused') return ended({ number, kind: 'refused', detail: armed.why });
  deps.log.info(`Auto-merge of pull request #${String(number)}: ${armed.value.kind}`);
  return ended({ number, ...armed.value });
}
