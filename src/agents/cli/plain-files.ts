import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, realpath, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** What `read` makes of a file where an agent can write; null when it is absent, empty or no plain file. */
export async function readPlainFile<T>(
  path: string,
  read: (file: FileHandle, size: number) => Promise<T> | null,
): Promise<T | null> {
  // A link to another file must not be followed, a pipe must not be waited for.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: unknown) => {
      if (isAbsent(error)) return null;
      throw error;
    },
  );
  if (file === null) return null;
  try {
    const stat = await file.stat();
    return stat.isFile() && stat.size > 0 ? await read(file, stat.size) : null;
  } finally {
    await file.close();
  }
}

/** Writes a file below a folder where an agent can write: whatever it put in the way, a link above all, goes. */
export async function placeFile(
  root: string,
  [...folders]: readonly string[],
  file: { readonly name: string; readonly content: Uint8Array | string },
): Promise<void> {
  await mkdir(root, { recursive: true });
  let folder = root;
  for (const name of folders) {
    folder = join(folder, name);
    await makeFolder(folder);
  }
  const path = join(folder, file.name);
  await rm(path, { recursive: true, force: true });
  await writeFile(path, file.content, { mode: 0o600, flag: 'wx' });
}

/** Removes what has a name below a folder where an agent can write. */
export async function removeFile(root: string, [...folders]: readonly string[], name: string): Promise<void> {
  let folder = root;
  for (const part of folders) {
    folder = join(folder, part);
    const found = await lstat(folder).catch(() => null);
    // Behind a link, something else would be removed.
    if (found?.isDirectory() !== true) return;
  }
  await rm(join(folder, name), { recursive: true, force: true });
}

/** Removes all but what has one of the names from a folder where an agent can write. */
export async function keepOnly(folder: string, kept: readonly string[]): Promise<void> {
  const names = (await listPlainFiles(folder, 'any')).filter((name) => !kept.includes(name));
  await Promise.all(names.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}

/** Names of what is in a folder where an agent can write, in order; only with `any`, links are among it. */
export async function listPlainFiles(folder: string, kind: 'file' | 'folder' | 'any'): Promise<readonly string[]> {
  const found = await lstat(folder).catch(() => null);
  if (found?.isDirectory() !== true) return [];
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => kind === 'any' || (kind === 'file' ? entry.isFile() : entry.isDirectory()))
    .map(({ name }) => name)
    .sort();
}

async function makeFolder(folder: string): Promise<void> {
  const found = await lstat(folder).catch(() => null);
  if (found?.isDirectory() === true) return;
  await rm(folder, { force: true });
  await mkdir(folder);
}

function isAbsent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'ENXIO';
}

/** The real path of a folder; where it is not there any more, the one that it had. */
export async function realPathOfFolder(path: string): Promise<string> {
  return await realpath(path).catch(async () =>
    dirname(path) === path ? path : join(await realPathOfFolder(dirname(path)), basename(path)),
  );
}
