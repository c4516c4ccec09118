import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import type { RoomOptions } from './options.ts';
import { readRoomRecord, removeRoomRecord } from './record.ts';
import { endProcessesOf, giveBack, keptPatterns } from './room-of.ts';
import { findRoot } from './root.ts';
import { CLOSE, REMOVE } from './scripts.ts';

/** Where the conversation is in the folder of a run that has no room any more. */
const SESSION = 'agent';
/** From SIGTERM to SIGKILL for what nobody waits for any more. */
const GRACE_MS = 500;

/**
 * Ends every process of a run's room, gives back what belonged to its user, and removes the room; returns the processes
 * that are left, as words. Does nothing where a run has none. Safe to repeat, also after a kill half-way.
 */
export async function removeRoom(
  runFolder: string,
  { environment, places }: Pick<RoomOptions, 'environment' | 'places'>,
): Promise<readonly string[]> {
  const record = readRoomRecord({ runFolder });
  if (record === null) return [];
  const root = await findRoot(environment);
  const { uid, given, closed } = record;
  const left = await endProcessesOf(root, uid, GRACE_MS);
  // Who is still there must not find what is ours.
  if (left.length > 0) return left;
  for (const known of given) await giveBack(root, uid, known);
  for (const folder of closed) chmodSync(folder.path, folder.mode);
  if (record.opened.length > 0) await root.run(CLOSE, [String(uid), ...record.opened]);
  await root.run(REMOVE, [
    ...[places.reservations, String(uid), record.userName, record.folder, join(runFolder, SESSION)],
    ...keptPatterns(record),
  ]);
  // Whoever looks next finds nothing left to do.
  removeRoomRecord({ runFolder });
  return [];
}
