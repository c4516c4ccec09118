import { chmod, copyFile, cp, lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import type { ObjectId } from '../../../core/evidence.ts';
import type { StoredObjects } from '../../../core/work-tree/handed-over.ts';
import { writeRegular } from '../../regular-files.ts';
import { removeTree } from '../../remove-tree.ts';
import { keepObjects } from './stored-objects.ts';

/** Named by what they hold: objects, packed and loose, and files of git-lfs. They stay where they are; all the rest decides how git behaves. */
const CONTENT = /(?:^|\/)(?:objects\/(?:pack|[0-9a-f]{2})|lfs|annex)$/;
/** Where a branch may have any name. */
const NAMES = /(?:^|\/)(?:refs|logs)(?:\/|$)/;
/** Made anew, or of no use to anybody later. */
const PASSING = /(?:^index|^sharedindex\.[0-9a-f]+|\.lock)$/;
/** Beside packs: what tells git that objects are elsewhere, or where they are. */
const BESIDE_PACKS = /^multi-pack-index|\.promisor$/;

function isContent(path: string): boolean {
  return CONTENT.test(path) && !NAMES.test(path);
}

/** Copies what decides how git behaves in a git directory: settings, hooks, refs, whatever is no content. Of that there is an empty folder. */
export async function saveGitDirectory(gitFolder: string, copy: string): Promise<void> {
  await rm(copy, { recursive: true, force: true });
  await cp(gitFolder, copy, {
    recursive: true,
    verbatimSymlinks: true,
    filter: async (source) => {
      const path = relative(gitFolder, source);
      const found = await lstat(source);
      if (found.isDirectory() && isContent(path)) await mkdir(join(copy, path), { recursive: true });
      const isKind = found.isDirectory() || found.isFile() || found.isSymbolicLink();
      return isKind && !isContent(path) && !PASSING.test(path);
    },
  });
}

/** What a git directory shall be once it is ours again. */
export interface GitDirectoryEnd {
  readonly branch: string;
  readonly tip: ObjectId;
  /** An index of the tip. */
  readonly index: Buffer;
  /** Its objects, as they were. */
  readonly objects: StoredObjects;
  /** Packs the lane's commits, and what they build on where `isWhole` is not so; returns the pack without the ending of its two files, null: there is nothing to pack. */
  readonly packed: (isWhole: boolean) => Promise<string | null>;
  /** Commits without a past, where what was there is lost. */
  readonly roots: readonly ObjectId[];
}

/**
 * Makes a git directory what it was when it was saved, with the branch at its new tip. What an agent left there is
 * removed. Where it changed objects that were there before, there are those of the tip alone, without a past, and no
 * other branch. Plain files: no git runs there, and no link is followed. Nobody else may be there.
 */
export async function putBackGitDirectory(
  gitFolder: string,
  copy: string,
  { branch, tip, index, objects, packed, roots }: GitDirectoryEnd,
): Promise<void> {
  if ((await lstat(gitFolder).catch(() => null))?.isDirectory() !== true) await rm(gitFolder, { force: true });
  await mkdir(gitFolder, { recursive: true });
  await clear(gitFolder, copy, '');
  await cp(copy, gitFolder, { recursive: true, verbatimSymlinks: true });
  const isWhole = await keepObjects(join(gitFolder, 'objects'), objects);
  if (!isWhole) {
    for (const name of ['refs', 'packed-refs', 'objects/info'])
      await rm(join(gitFolder, name), { recursive: true, force: true });
    await writeRegular(join(gitFolder, 'shallow'), roots.map((id) => `${id}\n`).join(''));
  }
  const pack = await packed(isWhole);
  if (pack !== null) await addPack(pack, join(gitFolder, 'objects', 'pack'));
  const ref = join(gitFolder, 'refs', 'heads', ...branch.split('/'));
  await mkdir(dirname(ref), { recursive: true });
  await writeRegular(ref, `${tip}\n`);
  await writeRegular(join(gitFolder, 'HEAD'), `ref: refs/heads/${branch}\n`);
  await writeRegular(join(gitFolder, 'index'), index);
}

/** Its index comes last: without one git does not look at a pack. */
async function addPack(pack: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const kind of ['pack', 'idx']) {
    const place = join(folder, `${basename(pack)}.${kind}`);
    await removeTree(place);
    await copyFile(`${pack}.${kind}`, place);
  }
}

/** Removes all but content from a folder of the git directory, and from those below that were there before. */
async function clear(gitFolder: string, copy: string, path: string): Promise<void> {
  const folder = join(gitFolder, path);
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const inner = path === '' ? entry.name : `${path}/${entry.name}`;
    const before = await lstat(join(copy, inner)).catch(() => null);
    // Objects that were made since are in folders of their own.
    const stays = before?.isDirectory() === true || /(?:^|\/)objects\/[^/]+$/.test(inner);
    if (entry.isDirectory() && isContent(inner) && stays) {
      // Those of the checkout itself are looked at one by one.
      if (!inner.startsWith('objects/')) await keepFiles(join(gitFolder, inner));
    } else if (entry.isDirectory() && before?.isDirectory() === true) await clear(gitFolder, copy, inner);
    else await removeTree(join(gitFolder, inner));
  }
  await chmod(folder, (await lstat(join(copy, path))).mode & 0o777);
}

/** Content is in plain files. */
async function keepFiles(folder: string): Promise<void> {
  // An agent may have closed it, or opened it to everybody.
  await chmod(folder, ((await lstat(folder)).mode & 0o775) | 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const inner = join(folder, entry.name);
    if (entry.isDirectory()) await keepFiles(inner);
    else if (!entry.isFile() || BESIDE_PACKS.test(entry.name)) await removeTree(inner);
  }
}
