import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { describeRemains } from '../../../core/isolation/sandbox-record.ts';
import { runTagOfLane } from '../../../core/sharing/lease.ts';
import { isLaneId } from '../../../core/tasks/ids.ts';
import { listFirstNames } from '../../../core/text/phrase.ts';
import { UserError } from '../../../errors.ts';
import { removeTree } from '../../../git/remove-tree.ts';
import type { RunClaim } from '../../../home/own-folder.ts';
import type { Log } from '../../../ports/machine.ts';
import { endAgent, removeSandboxesOf } from '../../agent.ts';
import { tagOfSideProcesses } from './beside.ts';
import { folderOfLanes, locateLaneFolders, type RunFolders, runFolderOf } from '../place.ts';

/** Cleans up after a killed run: ends its processes and removes its sandbox. */
export async function cleanUpAfter(
  killed: RunClaim,
  options: { readonly place: RunFolders; readonly environment: NodeJS.ProcessEnv; readonly log: Pick<Log, 'warning'> },
): Promise<void> {
  const { place, environment, log } = options;
  log.warning(
    `The previous run (process ${String(killed.pid)}) was killed. Its finished iterations are kept; an unfinished one is lost.`,
  );
  const lanes = (await readdir(folderOfLanes(place)).catch(() => [])).filter(isLaneId);
  // The killed run's own child processes end by themselves, but that may take a while, so end them.
  const tags = [
    killed.runTag,
    tagOfSideProcesses(killed.runTag),
    ...lanes.map((lane) => runTagOfLane(killed.runTag, lane)),
  ];
  for (const tag of tags) await endAgent(tag);
  const folders = lanes.map((lane) => runFolderOf(locateLaneFolders(place, lane), killed.number));
  // Any program can write the claim, which is a file of the checkout, so remove only folders of this checkout.
  if (dirname(resolve(killed.runFolder)) === resolve(place.temp)) folders.unshift(killed.runFolder);
  else if (existsSync(killed.runFolder))
    log.warning(
      `The folder of that run, ${killed.runFolder}, does not belong to this checkout, so nothing in it is removed.`,
    );
  for (const runFolder of folders) {
    const remains = await removeSandboxesOf({ runFolder }, environment);
    if (remains.processes.length > 0)
      throw new UserError(
        'infrastructure',
        `Processes of that run cannot be ended: ${listFirstNames(remains.processes)}. Restart this machine, or end them as root.`,
      );
    const sentence = describeRemains(remains);
    if (sentence !== null) log.warning(sentence);
  }
  await removeTree(folderOfLanes(place));
}
