import { chmod, lstat, readdir, rm } from 'node:fs/promises';

/** Removes whatever stands at `path`, folders that were closed as well. No link is followed. */
export async function removeTree(path: string | Buffer): Promise<void> {
  const remove = (): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 3 });
  await remove().catch(async () => {
    await openFolders(path);
    await remove();
  });
}

async function openFolders(path: string | Buffer): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found?.isDirectory() !== true) return;
  await chmod(path, 0o700);
  for (const entry of await readdir(path, { withFileTypes: true, encoding: 'buffer' }))
    if (entry.isDirectory()) await openFolders(within(path, entry.name));
}

/** Names are bytes: one that is not UTF-8 is a folder like any other. */
function within(folder: string | Buffer, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(folder), Buffer.from('/'), name]);
}
