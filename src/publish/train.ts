import type { Train } from '../core/train/train.ts';
import { trainPart, withTrainPart } from '../report/sentences/train.ts';
import type { PublishDeps } from './deps.ts';

/** Brings the merge order on the pages of all open pull requests up to date: one request, and a second one if a page changes. */
export async function publishTrain(
  { forge, redact }: Pick<PublishDeps, 'forge' | 'redact'>,
  train: Train,
): Promise<void> {
  await forge.rewriteBodies(
    train.pulls.map(({ number }) => number),
    (number, body) => withTrainPart(body, redact(trainPart(train, number))),
  );
}
