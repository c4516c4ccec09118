import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readRegular } from '../regular-files.ts';

/**
 * Returns true if, by the disk alone, the checkout around `folder` may have one of the paths. Does not ask git, which
 * takes many times as long.
 */
export async function mayHavePaths(folder: string, paths: readonly string[]): Promise<boolean> {
  const top = await findCheckoutTop(folder);
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

/** Returns the closest folder upwards that has a `.git`, or null if none. */
export async function findCheckoutTop(folder: string): Promise<string | null> {
  if (
    await lstat(join(folder, '.git')).then(
      () => true,
      () => false,
    )
  )
    return folder;
  return dirname(folder) === folder ? null : findCheckoutTop(dirname(folder));
}

/** A question about files of the base branch, and the checkout to ask. */
export interface BaseOnDisk {
  /** A folder in the checkout. */
  readonly folder: string;
  readonly paths: readonly string[];
  /** The base branch; if it is unknown (null), any branch except Ralph's may be it. */
  readonly baseBranch: string | null;
  /** The prefix of Ralph's branches. */
  readonly branchPrefix: string;
}

/**
 * Returns true if the base branch may have one of the files, read from the disk alone: with the base branch or no
 * branch checked out, the disk shows all of them.
 */
export async function baseMayHave({ folder, paths, ...wanted }: BaseOnDisk): Promise<boolean> {
  if (await mayHavePaths(folder, paths)) return true;
  const top = await findCheckoutTop(folder);
  if (top === null) return false;
  const head = await readRegular(join(top, '.git', 'HEAD'));
  const [, branch] = /^ref: refs\/heads\/(.+)\n?$/.exec(head?.bytes.toString() ?? '') ?? [];
  return branch !== undefined && !isBaseBranchName(branch, wanted);
}

/** Returns true if a branch is the base branch. */
export function isBaseBranchName(
  branch: string,
  { baseBranch, branchPrefix }: Pick<BaseOnDisk, 'baseBranch' | 'branchPrefix'>,
): boolean {
  return baseBranch === null ? !branch.startsWith(branchPrefix) : branch === baseBranch;
}
