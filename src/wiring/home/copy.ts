import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { namesOf } from '../../core/text/lists.ts';
import { cloneForRun, copyIgnored } from '../../git/home/clone.ts';
import type { PersonCheckout } from '../../git/home/person-checkout.ts';
import { removeTree } from '../../git/remove-tree.ts';
import type { Log } from '../../ports/machine.ts';
import type { Place } from './place.ts';

/** A fresh copy for each run: what an earlier agent left is gone. */
export async function prepareCopy(
  {
    config,
    checkout,
    place,
    environment,
  }: {
    readonly config: Pick<Config, 'baseBranch'>;
    readonly checkout: PersonCheckout;
    readonly place: Place;
    readonly environment: NodeJS.ProcessEnv;
  },
  log: Pick<Log, 'info' | 'warning'>,
): Promise<void> {
  await removeTree(join(place.base, 'work'));
  await removeTree(place.temp);
  mkdirSync(place.temp, { recursive: true, mode: 0o700 });
  log.info(`Copying ${config.baseBranch ?? ''} to ${place.clone} …`);
  await cloneForRun({ from: checkout.top, branch: config.baseBranch ?? '', folder: place.clone, env: environment });
  const failed = await copyIgnored({ git: checkout.git, top: checkout.top, folder: place.clone });
  if (failed.length > 0) log.warning(`Files that git ignores could not be copied: ${namesOf(failed)}.`);
}
