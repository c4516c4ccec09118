import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { roomRecord, type RoomRecord, type RunProcess } from '../../core/isolation/room-record.ts';
import { tryJson } from '../../core/text/try-json.ts';
import { startOfProcess } from '../tries.ts';

const FILE = 'room.json';

/** The place of a room's record: the run's own folder, which the room's user cannot reach. */
export interface RecordPlace {
  readonly runFolder: string;
}

/**
 * Writes the record before the things that it names are created, so that a kill at any instant leaves nothing unknown.
 * The room gets a copy for other runs.
 */
export function writeRoomRecord({ runFolder }: RecordPlace, record: RoomRecord): void {
  write(runFolder, record);
  writeRoomCopy(record);
}

/** Writes only the copy in the room, for other runs. */
export function writeRoomCopy(record: RoomRecord): void {
  if (existsSync(record.folder)) write(record.folder, record);
}

function write(folder: string, record: RoomRecord): void {
  const next = join(folder, `${FILE}.next`);
  writeFileSync(next, JSON.stringify(record), { mode: 0o600 });
  renameSync(next, join(folder, FILE));
}

/** Reads the record of the run's room; returns null if there is no room or the record is unreadable. */
export function readRoomRecord({ runFolder }: RecordPlace): RoomRecord | null {
  try {
    const parsed = roomRecord.safeParse(tryJson(readFileSync(join(runFolder, FILE), 'utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

export function removeRoomRecord({ runFolder }: RecordPlace): void {
  rmSync(join(runFolder, FILE), { force: true });
}

/** Tells whether the run has a room, including a room made without root. */
export function hasRoomRecord({ runFolder }: RecordPlace): boolean {
  return [FILE, 'sandbox.json'].some((name) => existsSync(join(runFolder, name)));
}

/** A room on this machine, according to its copy of the record; `changedAt` is in ms since 1970. */
export interface KnownRoom {
  readonly record: RoomRecord;
  readonly changedAt: number;
}

/** Returns the rooms that runs of this user made; files of other users are ignored. */
export function roomsIn(rooms: string, owner: number): readonly KnownRoom[] {
  return readdirSync(rooms, { withFileTypes: true }).flatMap((entry) => {
    const folder = join(rooms, entry.name);
    if (!entry.isDirectory() || lstatSync(folder, { throwIfNoEntry: false })?.uid !== owner) return [];
    try {
      const copy = lstatSync(join(folder, FILE));
      const record = copy.isFile() && copy.uid === owner ? readRoomRecord({ runFolder: folder }) : null;
      return record?.folder === folder ? [{ record, changedAt: copy.mtimeMs }] : [];
    } catch {
      // The folder is not a room that a run left.
      return [];
    }
  });
}

/**
 * Returns the data by which other runs can check whether this process lives, or null if this machine does not show it.
 */
function thisProcess(): RunProcess | null {
  const started = startOfProcess('self');
  const place = placeOfProcesses();
  if (started === null || place === null) return null;
  const startedParent = startOfProcess(process.ppid);
  const parent = startedParent === null ? null : { pid: process.ppid, started: startedParent };
  return { pid: process.pid, started, ...place, parent };
}

/** Returns the record of a room of which only the folder is known so far. */
export function plannedRoom(runFolder: string, folder: string): RoomRecord {
  const own = thisProcess();
  return {
    ...{
      version: 2,
      uid: null,
      folder,
      run: own === null ? null : { folder: runFolder, process: own },
      isLeaving: false,
    },
    ...{ userName: '', given: [], opened: [], closed: [] },
  };
}

/** Returns the process namespace and the boot to which this process belongs, or null if they are unknown. */
export function placeOfProcesses(): Pick<RunProcess, 'namespace' | 'boot'> | null {
  try {
    return {
      namespace: readlinkSync('/proc/self/ns/pid'),
      boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    };
  } catch {
    return null;
  }
}
