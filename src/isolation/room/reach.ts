import { chmodSync, existsSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isKeptClosed, modeBefore, type RoomRecord } from '../../core/isolation/room-record.ts';
import { waysTo } from '../../processes/trusted-programs.ts';
import type { RoomOptions } from './options.ts';
import { roomsIn, writeRoomCopy, writeRoomRecord } from './record.ts';
import type { Foundation } from './room-of.ts';
import { REACH } from './scripts.ts';

/** Lets the room's user come to its programs, and closes the folder of the checkout, the job's temporary folder and the runner's home to it; throws Unavailable where that cannot be done. */
export async function makeReachable(foundation: Foundation, options: RoomOptions): Promise<void> {
  const { root, runFolder, uid } = foundation;
  const { checkout, visible, worker, environment, places } = options;
  const programs = [...visible, worker.file, ...worker.args.filter((arg) => arg.startsWith('/'))].filter(existsSync);
  const above = [...new Set(programs.flatMap((path) => waysTo(dirname(realpathSync(path))).toReversed()))];
  // Read before the permissions are: a run that is not seen any more has given them back.
  const others = otherRooms(foundation, places);
  const open = [environment['RUNNER_TEMP'], environment['HOME'], dirname(checkout)].flatMap((path) =>
    openToOthers(path, root.owner.uid, others),
  );
  // All that might be changed is on record before any of it is.
  foundation.record = {
    ...foundation.record,
    opened: above.slice(0, 100).map((path) => ({ path, isPlain: false })),
    closed: open,
  };
  writeRoomRecord({ runFolder }, foundation.record);
  for (const { path } of open) {
    // Who only passes through sees nothing of it. Another run's room may have to.
    const isPassed = modeBefore(path, others) !== null && (statSync(path).mode & 0o001) !== 0;
    chmodSync(path, above.includes(path) || isPassed ? 0o711 : 0o700);
  }
  const printed = await root.run(REACH, [String(uid), ...above]);
  const lines = new Set(printed.split('\n'));
  const opened = above.flatMap((path) => {
    const isPlain = lines.has(`plain ${path}`);
    return isPlain || lines.has(`listed ${path}`) ? [{ path, isPlain }] : [];
  });
  foundation.record = { ...foundation.record, opened };
  writeRoomRecord({ runFolder }, foundation.record);
}

/** A folder of ours that others may look into, or could before another room closed it: the runner keeps the files there by which a job is steered. */
function openToOthers(
  path: string | undefined,
  uid: number,
  others: readonly RoomRecord[],
): readonly { readonly path: string; readonly mode: number }[] {
  if (path === undefined || path === '') return [];
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true || (found.uid !== uid && uid !== 0) || realpathSync(path) === '/') return [];
  const real = realpathSync(path);
  const before = modeBefore(real, others);
  // An access list shows that others pass through as a right of the group.
  if (before === null && (found.mode & 0o067) === 0) return [];
  return [{ path: real, mode: before ?? found.mode & 0o7777 }];
}

/** The rooms that other runs of this user have on this machine. */
function otherRooms(
  { root, record }: Pick<Foundation, 'root' | 'record'>,
  places: RoomOptions['places'],
): readonly RoomRecord[] {
  return roomsIn(realpathSync(places.rooms), root.owner.uid)
    .map((known) => known.record)
    .filter(({ folder }) => folder !== record.folder);
}

/** Gives folders the permissions back that they had, unless another run's room still needs them closed; then it does this. */
export function openClosed({ root, record }: Pick<Foundation, 'root' | 'record'>, places: RoomOptions['places']): void {
  // Of two that end at once, one sees that the other does.
  writeRoomCopy({ ...record, isLeaving: true });
  const isKept = (path: string): boolean => isKeptClosed(path, otherRooms({ root, record }, places));
  for (const { path, mode } of record.closed) {
    const shut = statSync(path, { throwIfNoEntry: false })?.mode;
    if (shut === undefined || isKept(path)) continue;
    chmodSync(path, mode);
    // A room that was made meanwhile may have closed it before this.
    if (isKept(path)) chmodSync(path, shut & 0o711);
  }
}
