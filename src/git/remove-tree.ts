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
    // Join the path as bytes, because a name may not be UTF-8.
    if (entry.isDirectory()) await openFolders(Buffer.concat([Buffer.from(path), Buffer.from('/'), entry.name]));
}
