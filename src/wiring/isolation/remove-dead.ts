import { readdirSync } from 'node:fs';
import { roomPlaces } from './room-place.ts';
import type { World } from '../world.ts';

/** Removes the rooms that dead runs of this user left on this machine, with their users, processes and mounts. For runs of every kind: where there is none, it looks into one folder. Never throws. */
export async function removeDeadRooms(environment: World['environment']): Promise<void> {
  try {
    const places = roomPlaces(environment);
    if (!readdirSync(places.rooms).some((name) => name.startsWith('ralph-room-'))) return;
    const [{ removeAbandoned }, { findRoot }] = await Promise.all([
      import('../../isolation/room/remove.ts'),
      import('../../isolation/room/root.ts'),
    ]);
    await removeAbandoned(() => findRoot(environment), { places });
  } catch {
    // The next run tries again.
  }
}
