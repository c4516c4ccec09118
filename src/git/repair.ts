import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UserError } from '../user-error.ts';
import { readConfig, type Workspace } from './workspace.ts';

/**
 * Remembers what git needs to accept the workspace's git directory at all; the returned function puts it back when an agent
 * broke it. Throws UserError when the objects are gone: then there is nothing left to commit to.
 */
export async function createWorkspaceRepair(workspace: Workspace): Promise<() => Promise<void>> {
  const config = await readConfig(workspace);
  return async () => {
    if (!(await stat(join(workspace.commonFolder, 'objects')).catch(() => null))) {
      throw new UserError('infrastructure', `The agent removed the git directory ${workspace.gitFolder}; its work of this iteration cannot be committed. What earlier iterations pushed is safe; run again.`);
    }
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
