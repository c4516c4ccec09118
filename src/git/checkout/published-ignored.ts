import type { ObjectId } from '../../core/evidence.ts';
import { listFirstNames, toOneLine } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import type { PrivateRepository } from './private-repository.ts';

/** Throws UserError if the second commit adds files that the rules in the work tree ignore, or if git cannot tell. */
export async function refuseIgnoredFiles(
  repository: PrivateRepository,
  branch: string,
  commits: readonly [ObjectId, ObjectId],
): Promise<void> {
  const { git } = repository;
  const listed = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--diff-filter=A', ...commits];
  const added = await git.names(listed);
  const input = added.join('\0');
  const { exitCode, stdout } = await git.answer(['check-ignore', '--no-index', '-z', '--stdin'], { input });
  if (exitCode === 1) return;
  const ignored =
    exitCode === 0 ? stdout.toString().split('\0').filter(Boolean) : await ignoredOf(repository, added, commits[1]);
  if (ignored.length === 0) return;
  const names = toOneLine(listFirstNames(ignored), 300);
  throw new UserError('infrastructure', `Branch ${branch} has files that git ignores here: ${names}.`);
}

/** Returns the paths that git ignores. Unlike `check-ignore`, this answers for paths below a link of the work tree. */
async function ignoredOf(
  { git, withIndex }: PrivateRepository,
  paths: readonly string[],
  commit: ObjectId,
): Promise<readonly string[]> {
  return await withIndex('empty', async (indexFile) => {
    const variables = { GIT_INDEX_FILE: indexFile };
    await git.text(['read-tree', commit], { variables });
    const ignored = await git.names(['ls-files', '-z', '--cached', '--ignored', '--exclude-standard'], { variables });
    return ignored.filter((path) => paths.includes(path));
  });
}
