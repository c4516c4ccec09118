import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { listSettingsPaths } from '../../config/settings/run-texts.ts';
import { toRootPath, type Folder } from '../../core/folder.ts';
import { listCommittedFiles, listTaskFiles } from '../../core/local/committed-files.ts';
import { listFirstNames } from '../../core/text/phrase.ts';
import { findIgnoredAmong, type PersonCheckout } from '../../git/home/person-checkout.ts';

/** Returns the files that would configure the run if git did not ignore them. */
export async function findIgnoredFiles(
  checkout: PersonCheckout,
  { workingDirectory: folder, promptFile }: Pick<Config, 'workingDirectory' | 'promptFile'>,
): Promise<readonly string[]> {
  const there = await readdir(join(checkout.top, folder)).catch(() => []);
  return findIgnoredAmong(checkout, [
    ...listCommittedFiles(folder, { promptFile, there }),
    ...listSettingsPaths(folder),
  ]);
}

/**
 * Returns sentences about the person's files that the run does not see. `ignored` are those that git ignores, and
 * `folder` is the run's folder.
 */
export function describeUncommitted(
  { uncommitted, ignored }: Pick<PersonCheckout, 'uncommitted'> & { readonly ignored: readonly string[] },
  folder: Folder,
): readonly string[] {
  const isOurs = (path: string): boolean =>
    /(?:^|\/)\.ralph\/(?:state|logs|status\.json|progress\.json)(?:\/|$)/.test(path);
  const others = [...ignored, ...uncommitted.filter((path) => !isOurs(path))];
  if (others.length === 0) return [];
  const lists = [...listTaskFiles(folder), toRootPath(folder, '.ralph/')];
  const ofTasks = others.filter((path) => lists.includes(path) || path.startsWith(toRootPath(folder, '.beads/')));
  return [
    `Uncommitted files are not part of the run and stay as they are: ${listFirstNames(others)}.`,
    ...(ofTasks.length === 0
      ? []
      : [`The run reads its tasks from the last commit: commit ${listFirstNames(ofTasks)} first.`]),
    ...(ignored.length === 0
      ? []
      : [`Git ignores ${listFirstNames(ignored)}. Add an ignored file with "git add --force PATH", then commit it.`]),
  ];
}
