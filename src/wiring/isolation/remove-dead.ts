import { existsSync, readdirSync } from 'node:fs';
import { RESERVATIONS, listSandboxFolders } from './sandbox-folders.ts';
import type { World } from '../world.ts';

/**
 * Removes the sandboxes that dead runs of this user left on this machine, with their users, processes and mounts. Cheap
 * if none, so every run calls it. Never throws.
 */
export async function removeDeadSandboxes(environment: World['environment']): Promise<void> {
  try {
    // Earlier versions called a sandbox a room.
    const isSandboxFolder = (name: string): boolean => /^ralph-(?:sandbox|room)-/.test(name);
    const filled = listSandboxFolders(environment).filter(
      (path) => existsSync(path) && readdirSync(path).some(isSandboxFolder),
    );
    if (filled.length === 0) return;
    const [{ removeAbandoned }, { findRoot }] = await Promise.all([
      import('../../isolation/namespaces/remove.ts'),
      import('../../isolation/namespaces/root.ts'),
    ]);
    for (const agentSandboxes of filled)
      await removeAbandoned(() => findRoot(environment), { places: { agentSandboxes, reservations: RESERVATIONS } });
  } catch {
    // Ignore a failure, because the next run tries again.
  }
}
