import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from '../git.ts';
import type { Folder } from '../../core/folder.ts';
import { UserError } from '../../errors.ts';

/** Why the input working-directory cannot be used in the checkout in `top`, as a sentence for a person; null: it can. Only folders of the repository itself can: nothing of it is reached through a link. */
export async function workingDirectoryProblem(top: string, folder: Folder): Promise<string | null> {
  if (folder === '') return null;
  const steps = folder.split('/');
  for (const index of steps.keys()) {
    const path = steps.slice(0, index + 1).join('/');
    const found = await lstat(join(top, path)).catch(() => null);
    const why = found === null ? 'does not exist' : whyNot(found);
    if (why !== null)
      return `\`working-directory\` is ${JSON.stringify(folder)}, but ${path === folder ? 'that' : JSON.stringify(path)} ${why} in the checkout in ${top}. Name a folder of the repository, as a path from its root.`;
    if ((await lstat(join(top, path, '.git')).catch(() => null)) !== null)
      return `\`working-directory\` is ${JSON.stringify(folder)}, but ${JSON.stringify(path)} is a repository of its own (a submodule, for example), where nothing can be committed. Name a folder of the repository itself.`;
  }
  return null;
}

/** Throws a UserError where the folder cannot be used. */
export async function checkWorkingDirectory(top: string, folder: Folder): Promise<void> {
  const problem = await workingDirectoryProblem(top, folder);
  if (problem !== null) throw new UserError('configuration', problem);
}

/** Throws a UserError where a commit of a branch does not have the folder. */
export async function checkFolderOf(
  git: Git,
  { branch, tip }: { readonly branch: string; readonly tip: string },
  folder: Folder,
): Promise<void> {
  if (folder === '') return;
  const found = await git.answer(['cat-file', '-t', `${tip}:${folder}`]);
  if (found.exitCode === 0 && found.stdout.toString().trim() === 'tree') return;
  throw new UserError(
    'configuration',
    `\`working-directory\` is ${JSON.stringify(folder)}, but that is not a folder on the branch ${branch}. Name a folder of the repository, as a path from its root.`,
  );
}

function whyNot(found: { isSymbolicLink(): boolean; isDirectory(): boolean }): string | null {
  if (found.isSymbolicLink()) return 'is a link, which is not followed,';
  return found.isDirectory() ? null : 'is not a folder';
}
