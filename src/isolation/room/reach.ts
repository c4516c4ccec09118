import { chmodSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { RoomOptions } from './options.ts';
import { writeRoomRecord } from './record.ts';
import type { Foundation } from './room-of.ts';
import { REACH } from './scripts.ts';

/** Lets the room's user come to the work folders, and closes the job's temporary folder and the runner's home to it; throws Unavailable where that cannot be done. */
export async function makeReachable(foundation: Foundation, { workFolders, environment }: RoomOptions): Promise<void> {
  const { root, runFolder } = foundation;
  const above = [...new Set(workFolders.flatMap((folder) => foldersAbove(realpathSync(folder))))];
  const open = [environment['RUNNER_TEMP'], environment['HOME']].flatMap((path) => openToOthers(path, root.owner.uid));
  // All that might be changed is on record before any of it is.
  foundation.record = { ...foundation.record, opened: above.slice(0, 100), closed: open };
  writeRoomRecord({ runFolder }, foundation.record);
  // Who only passes through sees nothing of it.
  for (const { path } of open) chmodSync(path, above.includes(path) ? 0o711 : 0o700);
  const opened = await root.run(REACH, [String(foundation.record.uid), ...above]);
  foundation.record = { ...foundation.record, opened: opened.split('\n').filter((path) => above.includes(path)) };
  writeRoomRecord({ runFolder }, foundation.record);
}

/** From the outside in. */
function foldersAbove(path: string): readonly string[] {
  const above = dirname(path);
  return above === path ? [] : [...foldersAbove(above), above];
}

/** A folder of ours that others may look into: the runner keeps the files there by which a job is steered. */
function openToOthers(
  path: string | undefined,
  uid: number,
): readonly { readonly path: string; readonly mode: number }[] {
  if (path === undefined || path === '') return [];
  const found = statSync(path, { throwIfNoEntry: false });
  const isOurs = found?.isDirectory() === true && (found.uid === uid || uid === 0) && realpathSync(path) !== '/';
  return isOurs && (found.mode & 0o077) !== 0 ? [{ path: realpathSync(path), mode: found.mode & 0o7777 }] : [];
}
