import type { Train } from '../core/train/train.ts';
import { trainPart, withTrainPart } from '../report/sentences/train.ts';
import { armNextPull } from './auto-merge.ts';
import type { PublishDeps } from './deps.ts';

/**
 * Arms auto-merge for the next pull request where the settings want that, and brings the merge order on the pages of
 * all open ones up to date: one request, and a second one if a page changes. No page is read for up to `alone` pull
 * requests without an order.
 */
export async function publishTrain(deps: PublishDeps, seen: Train, alone: number): Promise<Train> {
  const { forge, redact } = deps;
  const train = await armNextPull(deps, seen);
  if (train.pulls.length > alone || train.autoMerge !== null)
    await forge.rewriteBodies(
      train.pulls.map(({ number }) => number),
      (number, body) => withTrainPart(body, redact(trainPart(train, number))),
    );
  return train;
}
