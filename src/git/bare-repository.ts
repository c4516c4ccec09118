import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createGit, type Git, type GitSetup } from './git.ts';
import { writeRegular } from './regular-files.ts';

export interface BareRepositoryOptions extends Pick<GitSetup, 'env' | 'hide' | 'configuration' | 'unblock'> {
  /** A folder outside of the checkout. */
  readonly workFolder: string;
  /** A folder of objects that can be read as well, and a list of the commits in it whose past is not there. */
  readonly borrow?: { readonly objects: string; readonly shallow: string } | null;
  /** A folder in which the objects outlive the repository. */
  readonly keepObjectsIn?: string;
}

/** A bare repository that exists for one call: config, hooks and refs in it are ours alone. Made by hand: `git init` would copy templates. */
export async function withBareRepository<T>(
  { workFolder, borrow = null, keepObjectsIn, ...setup }: BareRepositoryOptions,
  body: (git: Git, gitFolder: string) => Promise<T>,
): Promise<T> {
  await mkdir(workFolder, { recursive: true });
  const folder = await mkdtemp(join(workFolder, 'bare-'));
  const objects = keepObjectsIn ?? join(folder, 'objects');
  try {
    await Promise.all([mkdir(join(objects, 'info'), { recursive: true }), mkdir(join(folder, 'refs'))]);
    await Promise.all([
      writeRegular(join(folder, 'HEAD'), 'ref: refs/heads/none\n'),
      writeRegular(join(folder, 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = true\n'),
    ]);
    if (borrow !== null) {
      await writeRegular(join(objects, 'info', 'alternates'), `${borrow.objects}\n`);
      if (borrow.shallow !== '') await writeRegular(join(folder, 'shallow'), borrow.shallow);
    }
    return await body(
      createGit({ ...setup, folder, variables: { GIT_DIR: folder, GIT_OBJECT_DIRECTORY: objects } }),
      folder,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
