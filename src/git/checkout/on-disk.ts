import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readRegular } from '../regular-files.ts';

/** Whether one of the paths may be in the checkout that `folder` is in, as far as the disk shows: to ask git takes many times as long. */
export async function mayHave(folder: string, paths: readonly string[]): Promise<boolean> {
  const top = await topOf(folder);
  if (top === null) return false;
  const found = await Promise.all(
    paths.map((path) =>
      (path.includes('*')
        ? readdir(join(top, dirname(path))).then((names) => names.length > 0)
        : lstat(join(top, path)).then(() => true)
      ).catch(() => false),
    ),
  );
  return found.includes(true);
}

/** The closest folder upwards that has a `.git`; null: there is none. */
export async function topOf(folder: string): Promise<string | null> {
  if (
    await lstat(join(folder, '.git')).then(
      () => true,
      () => false,
    )
  )
    return folder;
  return dirname(folder) === folder ? null : topOf(dirname(folder));
}

/** Which files of the base branch are asked for, and of which checkout. */
export interface BaseOnDisk {
  /** A folder of the checkout. */
  readonly folder: string;
  readonly paths: readonly string[];
  /** null: not known; then any branch counts that is not one of ours. */
  readonly baseBranch: string | null;
  /** What the names of our own branches begin with. */
  readonly branchPrefix: string;
}

/** Whether the base branch may have one of the files, as far as the disk shows: where the base branch or no branch is checked out, it shows all. */
export async function baseMayHave({ folder, paths, ...wanted }: BaseOnDisk): Promise<boolean> {
  if (await mayHave(folder, paths)) return true;
  const top = await topOf(folder);
  if (top === null) return false;
  const head = await readRegular(join(top, '.git', 'HEAD'));
  const [, branch] = /^ref: refs\/heads\/(.+)\n?$/.exec(head?.bytes.toString() ?? '') ?? [];
  return branch !== undefined && !isBase(branch, wanted);
}

/** Whether a branch is the base branch. */
export function isBase(
  branch: string,
  { baseBranch, branchPrefix }: Pick<BaseOnDisk, 'baseBranch' | 'branchPrefix'>,
): boolean {
  return baseBranch === null ? !branch.startsWith(branchPrefix) : branch === baseBranch;
}
