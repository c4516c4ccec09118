import { existsSync, readdirSync } from 'node:fs';
import { RESERVATIONS, roomFolders } from './room-folders.ts';
import type { World } from '../world.ts';

/**
 * Removes the sandboxes that dead runs of this user left on this machine, with their users, processes and mounts. For
 * runs of every kind: without any, it only looks into a folder or two. Never throws.
 */
export async function removeDeadRooms(environment: World['environment']): Promise<void> {
  try {
    const isRoom = (name: string): boolean => name.startsWith('ralph-room-');
    const filled = roomFolders(environment).filter((path) => existsSync(path) && readdirSync(path).some(isRoom));
    if (filled.length === 0) return;
    const [{ removeAbandoned }, { findRoot }] = await Promise.all([
      import('../../isolation/room/remove.ts'),
      import('../../isolation/room/root.ts'),
    ]);
    for (const rooms of filled)
      await removeAbandoned(() => findRoot(environment), { places: { rooms, reservations: RESERVATIONS } });
  } catch {
    // The next run tries again.
  }
}
