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

/** Where a run keeps the record of its room: in its own folder, which the room's user does not reach. */
export interface RecordPlace {
  readonly runFolder: string;
}

/** Written before what it names is made, so that a kill at any instant leaves nothing unknown. The room has a copy, for other runs. */
export function writeRoomRecord({ runFolder }: RecordPlace, record: RoomRecord): void {
  write(runFolder, record);
  writeRoomCopy(record);
}

/** Says it to other runs alone. */
export function writeRoomCopy(record: RoomRecord): void {
  if (existsSync(record.folder)) write(record.folder, record);
}

function write(folder: string, record: RoomRecord): void {
  const next = join(folder, `${FILE}.next`);
  writeFileSync(next, JSON.stringify(record), { mode: 0o600 });
  renameSync(next, join(folder, FILE));
}

/** null: the run has no room, or none that can be read. */
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

/** Also of one that was made without root. */
export function hasRoomRecord({ runFolder }: RecordPlace): boolean {
  return [FILE, 'sandbox.json'].some((name) => existsSync(join(runFolder, name)));
}

/** A room on this machine, as its copy of the record says; `changedAt`: in ms since 1970. */
export interface KnownRoom {
  readonly record: RoomRecord;
  readonly changedAt: number;
}

/** The rooms that runs of this user made. What others put there says nothing. */
export function roomsIn(rooms: string, owner: number): readonly KnownRoom[] {
  return readdirSync(rooms, { withFileTypes: true }).flatMap((entry) => {
    const folder = join(rooms, entry.name);
    if (!entry.isDirectory() || lstatSync(folder, { throwIfNoEntry: false })?.uid !== owner) return [];
    try {
      const copy = lstatSync(join(folder, FILE));
      const record = copy.isFile() && copy.uid === owner ? readRoomRecord({ runFolder: folder }) : null;
      return record?.folder === folder ? [{ record, changedAt: copy.mtimeMs }] : [];
    } catch {
      // Nothing that a run left as a room.
      return [];
    }
  });
}

/** How other runs tell that this one lives; null: this machine does not say it. */
function thisProcess(): RunProcess | null {
  const started = startOfProcess('self');
  const place = placeOfProcesses();
  if (started === null || place === null) return null;
  const startedParent = startOfProcess(process.ppid);
  const parent = startedParent === null ? null : { pid: process.ppid, started: startedParent };
  return { pid: process.pid, started, ...place, parent };
}

/** A record of a room, before anything is known but its folder. */
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

/** Where this process is counted; null: not known. */
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
