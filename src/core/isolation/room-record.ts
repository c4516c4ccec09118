import { z } from 'zod';
import { DAY_MS } from '../countdown.ts';
import { namesOf } from '../text/phrase.ts';

/** A record of a room made without root: what must be ended and removed by whoever ends the run. */
export const sandboxRecord = z.strictObject({
  version: z.literal(1),
  /** Marks the processes that keep the room, see isolation/rootless/end.ts. */
  id: z.uuid(),
  /** Folder of the room, whose name this program chose. */
  folder: z
    .string()
    .regex(/^(?:\/(?!\.\.?\/)[^/\0]+)+\/ralph-room-[\da-f]{8}$/)
    .max(4096),
});

/** The type of `sandboxRecord`. */
export type SandboxRecord = z.infer<typeof sandboxRecord>;

/** Remains of a room that could not be removed, as words; each entry of `things` names what removes it. */
export interface RoomRemains {
  readonly processes: readonly string[];
  readonly things: readonly string[];
}

/** Remains of a room that was removed completely. */
export const NO_REMAINS: RoomRemains = { processes: [], things: [] };

const id = z.number().int().nonnegative();

const path = z.string().startsWith('/').max(4096);

const word = z.string().min(1).max(100);

/** User ids that systemd's table of users and groups leaves unassigned. */
export const ROOM_UIDS = { first: 60_706, last: 61_183 } as const;

const roomUid = id.min(ROOM_UIDS.first).max(ROOM_UIDS.last);

/** Identifies the process of a run among all processes that ever ran on this machine. */
const runProcess = z.strictObject({
  pid: id,
  /** Start time in clock ticks since the machine started. */
  started: word,
  /** The PID namespace of the process. */
  namespace: word,
  /** Id of the machine's last start. */
  boot: word,
  /** The process that started the run and continues with its post step; null if not known. */
  parent: z.strictObject({ pid: id, started: word }).nullable().default(null),
});

const parts = {
  /** Folder of the room, which is removed with everything in it. */
  folder: path.regex(/\/ralph-room-[A-Za-z0-9]{8}$/),
  /** Name of the user's entry in the machine's list of users; empty if there is no entry. */
  userName: z.string().regex(/^(ralph-\d+)?$/),
  /** Paths that belong, or may belong, to the room's user, with their former owner, which on some runners is another user. `all`: everything inside had the same owner. */
  given: z.array(z.strictObject({ path, uid: id, gid: id, all: z.literal(true).optional() })).max(20),
  /** Folders of the runner that were open to others, with their former permissions. */
  closed: z.array(z.strictObject({ path, mode: z.number().int().min(0).max(0o7777) })).max(10),
};

const current = z.strictObject({
  version: z.literal(2),
  ...parts,
  /** The room's user id, which a reservation keeps from other rooms; null if none was taken or it is not known. */
  uid: roomUid.nullable(),
  /** Folders that were closed to the room's user; `isPlain`: the folder had no access list before. */
  opened: z.array(z.strictObject({ path, isPlain: z.boolean() })).max(100),
  /** The run's folder and process; null if not known. */
  run: z.strictObject({ folder: path, process: runProcess }).nullable(),
  /** True while closed folders are being opened again. */
  isLeaving: z.boolean(),
});

/** The record of an earlier version of main, whose reservation has no link in its place. */
const first = z
  .strictObject({ version: z.literal(1), ...parts, uid: roomUid, opened: z.array(path).max(100) })
  .transform(({ opened, ...record }): z.infer<typeof current> => ({
    ...record,
    version: 2,
    opened: opened.map((folder) => ({ path: folder, isPlain: false })),
    run: null,
    isLeaving: false,
  }));

/** A record of a room: what must be removed and given back by whoever ends the run. */
export const roomRecord = z.union([current, first]);

/** The type of `roomRecord`. */
export type RoomRecord = z.infer<typeof roomRecord>;

export type RunProcess = z.infer<typeof runProcess>;

/** Maximum age of a room, longer than any job that its post step still follows. */
const KEPT_MS = DAY_MS;

/**
 * Tells whether nobody will remove a room: its run and the process that started the run are gone, the machine
 * restarted, or the room's record is gone with the run's folder or is too old. `started` returns the start time of a
 * process, null if there is none; `boot` and `namespace` are those of the current process.
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
  // Processes of another namespace cannot be seen from here and may be alive.
  if (namespace !== seen.namespace || started === seen.started(pid)) return false;
  const isAlone = parent !== null && parent.started !== seen.started(parent.pid);
  return isAlone || !seen.hasRecord || seen.ageMs > KEPT_MS;
}

/** Returns the permissions of a folder before the first of these rooms closed it; null if none closed it. */
export function modeBefore(folder: string, rooms: readonly RoomRecord[]): number | null {
  return rooms.flatMap(({ closed }) => closed).find((known) => known.path === folder)?.mode ?? null;
}

/** Tells whether one of these rooms still needs the folder closed. */
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

/** Returns a sentence for people with what to do; null if nothing is left. */
export function remainsSentence({ processes, things }: RoomRemains): string | null {
  if (processes.length > 0) return `Processes of the agent are still there: ${namesOf(processes)}. Restart the runner.`;
  if (things.length === 0) return null;
  return `The agent's room could not be removed completely. Remove as root what is left on this machine: ${things.join('; ')}.`;
}
