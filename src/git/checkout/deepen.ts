import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { lastWords } from '../git.ts';
import { readLinked, writeRegular } from '../regular-files.ts';
import type { BranchSource } from './lane.ts';
import { branchOf } from './workspace.ts';

/**
 * Fetches the commits that a shallow checkout lacks: without them nobody can say where a branch left the base.
 * Goes through our own git directory, as each fetch does. Returns why it could not; null: nothing is missing any more.
 */
export async function deepen({ workspace, repository, url, variables }: BranchSource): Promise<string | null> {
  const branch = await branchOf(workspace);
  if (branch === null) return 'it is not on a branch';
  const theirs = join(workspace.commonFolder, 'shallow');
  const missing = await readLinked(theirs);
  if (missing === null) return null;
  await repository.seal();
  await writeRegular(join(repository.folder, 'shallow'), missing.bytes.toString());
  const fetched = await repository.git.answer(
    [
      'fetch',
      '--quiet',
      '--unshallow',
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
