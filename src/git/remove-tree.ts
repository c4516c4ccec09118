import { chmod, lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Removes whatever stands at `path`, folders that were closed as well. No link is followed. */
export async function removeTree(path: string): Promise<void> {
  const remove = (): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 3 });
  await remove().catch(async () => {
    await openFolders(path);
    await remove();
  });
}

async function openFolders(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found?.isDirectory() !== true) return;
  await chmod(path, 0o700);
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await openFolders(join(path, entry.name));
}
