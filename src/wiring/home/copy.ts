import { mkdirSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { listFirstNames } from '../../core/text/phrase.ts';
import { copyLimits, formatCopyLimits } from '../../core/local/ignored-copies.ts';
import { copyIgnoredIntoClone } from '../../git/home/ignored-files.ts';
import { cloneForRun } from '../../git/home/clone-for-run.ts';
import type { PersonCheckout } from '../../git/home/person-checkout.ts';
import { removeTree } from '../../git/remove-tree.ts';
import type { Log } from '../../ports/machine.ts';
import type { RunFolders } from './place.ts';

/** Time in ms after which a progress message informs the person that copying continues. */
const SLOW_MS = 5_000;

/**
 * Prepares a fresh copy for each run, without files of an earlier agent. `signal` ends the copying of ignored files.
 */
export async function prepareCopy(
  options: {
    readonly config: Pick<Config, 'baseBranch'>;
    readonly checkout: PersonCheckout;
    readonly place: RunFolders;
    readonly environment: NodeJS.ProcessEnv;
    /** Ignored files that are not copied. */
    readonly leaveOut: readonly string[];
    readonly signal: AbortSignal;
  },
  log: Pick<Log, 'info' | 'warning'>,
): Promise<void> {
  const { config, checkout, place, environment, leaveOut, signal } = options;
  await removeTree(place.work);
  await removeTree(place.temp);
  mkdirSync(place.temp, { recursive: true, mode: 0o700 });
  log.info(`Copying ${config.baseBranch ?? ''} to ${place.clone} …`);
  await cloneForRun({ from: checkout.top, branch: config.baseBranch ?? '', folder: place.clone, env: environment });
  const { secrets, tooMuch, failed } = await copyIgnoredIntoClone({
    ...{ git: checkout.git, top: checkout.top, folder: place.clone, limits: copyLimits, leaveOut, signal },
    slow: {
      afterMs: SLOW_MS,
      say: (files) => {
        log.info(`Copying files that git ignores: ${files.toLocaleString('en-US')} so far …`);
      },
    },
  });
  if (secrets.length > 0)
    log.warning(
      `Ignored files whose names suggest secrets are not copied to where the agent works: ${listFirstNames(secrets)}.`,
    );
  if (tooMuch.length > 0)
    log.warning(
      `Some ignored files are not copied, because a run copies at most ${formatCopyLimits(copyLimits)}. Left out: ${listFirstNames(tooMuch)}.`,
    );
  if (failed.length > 0) log.warning(`These ignored files could not be copied: ${listFirstNames(failed)}.`);
}
