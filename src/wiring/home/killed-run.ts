import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { remainsSentence } from '../../core/isolation/sandbox-record.ts';
import { namesOf } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import type { RunClaim } from '../../home/own-folder.ts';
import type { Log } from '../../ports/machine.ts';
import { endAgent, removeSandboxesOf } from '../agent.ts';
import type { RunFolders } from './place.ts';

/** Cleans up after a killed run: ends its processes and removes its sandbox. */
export async function cleanUpAfter(
  killed: RunClaim,
  {
    place,
    environment,
    log,
  }: { readonly place: RunFolders; readonly environment: NodeJS.ProcessEnv; readonly log: Pick<Log, 'warning'> },
): Promise<void> {
  log.warning(
    `The previous run (process ${String(killed.pid)}) was killed. Its finished iterations are kept; an unfinished one is lost.`,
  );
  await endAgent(killed.runTag);
  if (!existsSync(killed.runFolder)) return;
  // Anyone may have written the claim, a file of the checkout, so nothing outside of this checkout's place is
  // removed.
  if (dirname(resolve(killed.runFolder)) !== resolve(place.temp)) {
    log.warning(
      `The folder of that run, ${killed.runFolder}, does not belong to this checkout, so nothing in it is removed.`,
    );
    return;
  }
  const remains = await removeSandboxesOf({ runFolder: killed.runFolder }, environment);
  if (remains.processes.length > 0)
    throw new UserError(
      'infrastructure',
      `Processes of that run cannot be ended: ${namesOf(remains.processes)}. Restart this machine, or end them as root.`,
    );
  const sentence = remainsSentence(remains);
  if (sentence !== null) log.warning(sentence);
}
