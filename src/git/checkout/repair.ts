import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfig, type Workspace } from './workspace.ts';

/**
 * Remembers what git needs to accept the workspace's git directory at all; the returned function puts it back
 * when an agent broke it.
 */
export async function createWorkspaceRepair(workspace: Workspace): Promise<() => Promise<void>> {
  const config = await readConfig(workspace);
  return async () => {
    await mkdir(join(workspace.commonFolder, 'refs', 'heads'), { recursive: true });
    if (await accepts(workspace)) return;
    if (config) await writeFile(join(workspace.commonFolder, 'config'), config);
    if (await accepts(workspace)) return;
    await rm(join(workspace.gitFolder, 'HEAD'), { recursive: true, force: true });
    await writeFile(join(workspace.gitFolder, 'HEAD'), 'ref: refs/heads/lost\n');
  };
}

async function accepts(workspace: Workspace): Promise<boolean> {
  return (await workspace.git.answer(['for-each-ref', '--count=1'])).exitCode === 0;
}
