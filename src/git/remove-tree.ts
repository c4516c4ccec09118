import { chmod, lstat, readdir, rm } from 'node:fs/promises';

/** Removes anything at `path`, including inaccessible folders. Links are not followed. */
export async function removeTree(path: string | Buffer): Promise<void> {
  const remove = (): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 3 });
  await remove().catch(async () => {
    await openFolders(path);
    await remove();
  });
}

async function openFolders(path: string | Buffer): Promise<void> {
  const stats = await lstat(path).catch(() => null);
  if (stats?.isDirectory() !== true) return;
  await chmod(path, 0o700);
  for (const entry of await readdir(path, { withFileTypes: true, encoding: 'buffer' }))
    if (entry.isDirectory()) await openFolders(within(path, entry.name));
}

/** Returns the path of an entry as bytes, because a name may not be UTF-8. */
function within(folder: string | Buffer, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(folder), Buffer.from('/'), name]);
}
