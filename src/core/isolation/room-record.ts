import { z } from 'zod';
import { DAY_MS } from '../countdown.ts';
import { namesOf } from '../text/phrase.ts';

/** What of a room that was made without root is to be ended and removed, by whoever ends the run. */
export const sandboxRecord = z.strictObject({
  version: z.literal(1),
  /** Marks the processes that keep the room, see isolation/rootless/end.ts. */
  id: z.uuid(),
  /** Folder of the room: one that this program named. */
  folder: z
    .string()
    .regex(/^(?:\/(?!\.\.?\/)[^/\0]+)+\/ralph-room-[\da-f]{8}$/)
    .max(4096),
});

/** See `sandboxRecord`. */
export type SandboxRecord = z.infer<typeof sandboxRecord>;

/** What could not be removed of a room, as words; `things` names each with what removes it. */
export interface RoomRemains {
  readonly processes: readonly string[];
  readonly things: readonly string[];
}

/** Nothing is left. */
export const NO_REMAINS: RoomRemains = { processes: [], things: [] };

const id = z.number().int().nonnegative();

const path = z.string().startsWith('/').max(4096);

const word = z.string().min(1).max(100);

/** Ids that systemd leaves to nobody (its table of users and groups). */
export const ROOM_UIDS = { first: 60_706, last: 61_183 } as const;

const roomUid = id.min(ROOM_UIDS.first).max(ROOM_UIDS.last);

/** The process that a run is, as no other process that ever was on this machine. */
const runProcess = z.strictObject({
  pid: id,
  /** In clock ticks since the machine started. */
  started: word,
  /** The namespace that counts the process. */
  namespace: word,
  /** The machine's last start. */
  boot: word,
  /** The process that started it, which goes on to its post step; null: not known. */
  parent: z.strictObject({ pid: id, started: word }).nullable().default(null),
});

const parts = {
  /** Folder of the room; everything in it is removed. */
  folder: path.regex(/\/ralph-room-[A-Za-z0-9]{8}$/),
  /** The entry that the id has in the machine's list of users; empty: none. */
  userName: z.string().regex(/^(ralph-\d+)?$/),
  /** What belongs, or may belong, to the room's user; and whose the folder itself was, which on some runners is not ours. `all`: so was what is in it. */
  given: z.array(z.strictObject({ path, uid: id, gid: id, all: z.literal(true).optional() })).max(20),
  /** Folders of ours that were open to others, and their permissions. */
  closed: z.array(z.strictObject({ path, mode: z.number().int().min(0).max(0o7777) })).max(10),
};

const current = z.strictObject({
  version: z.literal(2),
  ...parts,
  /** The room's user, whom a reservation keeps from other rooms; null: none was taken, or it is not known which. */
  uid: roomUid.nullable(),
  /** Folders that were closed to the room's user; `isPlain`: one had no access list before. */
  opened: z.array(z.strictObject({ path, isPlain: z.boolean() })).max(100),
  /** The run's folder and process; null: not known. */
  run: z.strictObject({ folder: path, process: runProcess }).nullable(),
  /** What was closed is being opened again. */
  isLeaving: z.boolean(),
});

/** Of a main before this one: without a link in the place of its reservation. */
const first = z
  .strictObject({ version: z.literal(1), ...parts, uid: roomUid, opened: z.array(path).max(100) })
  .transform(({ opened, ...record }): z.infer<typeof current> => ({
    ...record,
    version: 2,
    opened: opened.map((folder) => ({ path: folder, isPlain: false })),
    run: null,
    isLeaving: false,
  }));

/** What of a room is to be removed, and what given back, by whoever ends the run. */
export const roomRecord = z.union([current, first]);

/** See `roomRecord`. */
export type RoomRecord = z.infer<typeof roomRecord>;

export type RunProcess = z.infer<typeof runProcess>;

/** Longer than a job that its post step still follows. */
const KEPT_MS = DAY_MS;

/**
 * Whether nobody removes a room any more: its run was killed, and so was what started it, or the machine was started
 * again, or its record is gone with the run's folder, or old. `started`: when the process of an id began, null: there
 * is none; `boot` and `namespace`: ours.
 */
export function isAbandoned(
  { run }: RoomRecord,
  seen: Pick<RunProcess, 'namespace' | 'boot'> & {
    readonly started: (pid: number) => string | null;
    readonly hasRecord: boolean;
    readonly ageMs: number;
  },
): boolean {
  if (run === null) return false;
  const { boot, namespace, pid, started, parent } = run.process;
  if (boot !== seen.boot) return true;
  // What another namespace counts cannot be seen from here, and may live.
  if (namespace !== seen.namespace || started === seen.started(pid)) return false;
  const isAlone = parent !== null && parent.started !== seen.started(parent.pid);
  return isAlone || !seen.hasRecord || seen.ageMs > KEPT_MS;
}

/** The permissions that a folder had before the first of several rooms closed it; null: none of these did. */
export function modeBefore(folder: string, rooms: readonly RoomRecord[]): number | null {
  return rooms.flatMap(({ closed }) => closed).find((known) => known.path === folder)?.mode ?? null;
}

/** Whether one of these rooms needs a folder to stay closed. */
export function isKeptClosed(folder: string, rooms: readonly RoomRecord[]): boolean {
  return (
    modeBefore(
      folder,
      rooms.filter(({ isLeaving }) => !isLeaving),
    ) !== null
  );
}

export function isGone({ processes, things }: RoomRemains): boolean {
  return processes.length + things.length === 0;
}

/** For people, what to do included; null: nothing is left. */
export function remainsSentence({ processes, things }: RoomRemains): string | null {
  if (processes.length > 0) return `Processes of the agent are still there: ${namesOf(processes)}. Restart the runner.`;
  if (things.length === 0) return null;
  return `The agent's room could not be removed completely. Remove as root what is left on this machine: ${things.join('; ')}.`;
}
