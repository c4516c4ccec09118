import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { roomRecord, type RoomRecord } from '../../core/isolation/room-record.ts';
import { tryJson } from '../../core/text/try-json.ts';

const FILE = 'room.json';

/** Where a run keeps the record of its room: in its own folder, which the room's user does not reach. */
export interface RecordPlace {
  readonly runFolder: string;
}

/** Written before what it names is made, so that a kill at any instant leaves nothing unknown. */
export function writeRoomRecord({ runFolder }: RecordPlace, record: RoomRecord): void {
  const next = join(runFolder, `${FILE}.next`);
  writeFileSync(next, JSON.stringify(record), { mode: 0o600 });
  renameSync(next, join(runFolder, FILE));
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
