import { lstat, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeRegular } from '../../regular-files.ts';
import type { Workspace } from '../workspace.ts';

/** Makes a git directory that an agent broke or removed one that git accepts: without objects, and with HEAD on no commit. */
export type WorkspaceRestorer = () => Promise<void>;

/** Makes it so with the config that the tree was laid with. */
export function createWorkspaceRestorer({ gitFolder, commonFolder }: Workspace, config: Buffer): WorkspaceRestorer {
  return async () => {
    const inside = ['objects', 'objects/pack', 'objects/info', 'refs', 'refs/heads'];
    for (const folder of [commonFolder, ...inside.map((name) => join(commonFolder, name)), gitFolder])
      await makeFolder(folder);
    await writeRegular(join(commonFolder, 'config'), config);
    await writeRegular(join(gitFolder, 'HEAD'), 'ref: refs/heads/lost\n');
    // What would lend it objects or a past that are not its own.
    for (const name of ['objects/info/alternates', 'objects/info/commit-graph', 'objects/info/grafts', 'packed-refs'])
      await rm(join(commonFolder, name), { recursive: true, force: true });
  };
}

/** Whatever else stands at its place goes. */
async function makeFolder(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found !== null && !found.isDirectory()) await rm(path, { force: true });
  await mkdir(path, { recursive: true });
}
