import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { lastWords } from '../git.ts';
import { readLinked, writeRegular } from '../regular-files.ts';
import type { BranchSource } from './lane.ts';
import { branchOf, readConfig } from './workspace.ts';

/**
 * Fetches what a checkout lacks: the older commits of a shallow one, without which nobody can say where a branch left the
 * base, and the files of a partial one, which `sparse-checkout` of actions/checkout leaves on the server. Goes through our
 * own git directory, as each fetch does. Returns why it could not; null: nothing is missing any more.
 */
export async function deepen({ workspace, repository, url, variables }: BranchSource): Promise<string | null> {
  const theirs = join(workspace.commonFolder, 'shallow');
  const missing = await readLinked(theirs);
  // Its own settings say that git fetches the content of files only when it is asked for.
  const isPartial = /promisor|partialclone/i.test((await readConfig(workspace))?.toString() ?? '');
  if (missing === null && !isPartial) return null;
  const branch = await branchOf(workspace);
  if (branch === null) return 'it is not on a branch';
  await repository.seal();
  // The server sends no files of a commit that we claim to have.
  if (missing !== null && !isPartial) await writeRegular(join(repository.folder, 'shallow'), missing.bytes.toString());
  const fetched = await repository.git.answer(
    [
      'fetch',
      '--quiet',
      isPartial ? '--refetch' : '--unshallow',
      '--no-tags',
      '--no-write-fetch-head',
      '--no-auto-maintenance',
      url,
      `+refs/heads/${branch}:refs/ralph/deepened`,
    ],
    { variables },
  );
  if (fetched.exitCode !== 0) return lastWords(fetched.stderr);
  await rm(theirs, { force: true });
  return null;
}
