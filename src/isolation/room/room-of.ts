import { chmodSync, existsSync, realpathSync, statSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isKeptClosed, modeBefore, type RoomRecord } from '../../core/isolation/room-record.ts';
import { UserError } from '../../errors.ts';
import type { Room } from '../../ports/room.ts';
import { createPatience } from '../../processes/process-tree.ts';
import { waysTo } from '../../processes/trusted-programs.ts';
import { createLaunches } from './launch.ts';
import { roomsIn, writeRoomCopy, writeRoomRecord } from './record.ts';
import { type Root, SYSTEM_PATH } from './root.ts';
import { CHANGE_OWNER, KILL_EACH, OPEN_UP, REACH, REFRESH, SIGNAL } from './scripts.ts';
import { processesOf, sealOfPrograms } from './seal.ts';

/** What a room is made for. */
export interface RoomOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The run's private folder. */
  readonly runFolder: string;
  /** The runner's checkout, which is not there: a tree stands at its place. */
  readonly checkout: string;
  /** Folders of the runner that are not there, but for what is named otherwise. */
  readonly hidden: readonly string[];
  /** Folders that are there read-only although they lie in hidden ones. */
  readonly visible: readonly string[];
  /** Ports of this machine's 127.0.0.1 that are reached from the room at the same place. */
  readonly localPorts: readonly number[];
  /** Program and first arguments of our worker. */
  readonly worker: { readonly file: string; readonly args: readonly string[] };
  /** Where rooms are made, and where user ids are taken; in tests folders of their own. */
  readonly places: { readonly rooms: string; readonly reservations: string };
}

/** What a room stands on. */
export interface Foundation {
  readonly root: Root;
  readonly runFolder: string;
  /** The room's user. */
  readonly uid: number;
  /** As it stands on disk. */
  record: RoomRecord;
  /** Put before what is started, as root: it leads into the namespaces, or nowhere. */
  readonly way: readonly string[];
  /** The same with a mount of its own: a tree stands at `place`, which is the checkout's. null: there are no mounts. */
  readonly withTree: { readonly place: string; readonly way: (tree: string) => readonly string[] } | null;
  /** Shell commands that stop a program which is not where it should be. */
  readonly guard: string;
  /** Why nothing can run in it any more, as a sentence; null: it is there. */
  readonly lost: () => string | null;
}

const POLL_MS = 25;

/** SIGKILL is sent again to what was forked in the meantime, for this long after the last one that ended. */
const KILL_FOR_MS = 3_000;

const KILL_EVERY_MS = 200;

/** A tree may have a hundred thousand files. */
const CHANGE_MS = 120_000;

/** Of the room's user; a fork without end stops here. */
const MAX_PROCESSES = 4096;

/** A user without groups, capabilities or set-uid programs, whose processes end with the one that started them, and whose programs are sealed as far as this machine can do it. */
function asUser(root: Root, uid: number): readonly string[] {
  const id = String(uid);
  return [
    ...[root.program('prlimit'), '--core=0', `--nproc=${String(MAX_PROCESSES)}`],
    ...[root.program('setpriv'), `--reuid=${id}`, `--regid=${id}`, '--clear-groups', '--no-new-privs'],
    ...['--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all', '--pdeathsig=KILL'],
    ...sealOfPrograms(),
  ];
}

/** The port over what was founded. */
export function roomOf(foundation: Foundation): Room {
  const { root, runFolder, uid, way, withTree, guard, lost } = foundation;
  const { folder } = foundation.record;
  const folders = {
    home: `${folder}/home`,
    session: `${folder}/session`,
    trees: `${folder}/trees`,
    inbox: `${folder}/inbox`,
  };
  const launches = createLaunches(folders.inbox);
  const user = `${String(uid)}:${String(uid)}`;
  const changing = (path: string, change: Promise<unknown>): Promise<unknown> =>
    change.catch((error: unknown) => {
      throw new UserError(
        'infrastructure',
        `The files in ${path} cannot change hands between the runner and the isolated agent: ${String(error)}. Check the file system that they are on, or set \`isolation: none\`.`,
        { cause: error },
      );
    });
  return {
    folders,
    enter: (program) => {
      const why = lost();
      if (why !== null) return Promise.reject(new UserError('infrastructure', why));
      const launch = launches.write(program, guard);
      const [first = 'sh', ...rest] = [
        ...(program.tree === null || withTree === null ? way : withTree.way(program.tree)),
        ...asUser(root, uid),
        root.program('env'),
        '-i',
        root.program('sh'),
        launch,
        program.file,
        ...program.args,
      ];
      const { file, args } = root.command([first, ...rest]);
      return Promise.resolve({ file, args, cwd: '/', environment: { LC_ALL: 'C', PATH: SYSTEM_PATH } });
    },
    seenAt: (tree) => withTree?.place ?? tree,
    end: async (graceMs) => {
      const left = await endProcessesOf(root, uid, graceMs);
      launches.clear();
      return left;
    },
    refresh: async () => {
      const home = `${folders.trees}/ralph-home`;
      await root.run(`${guard}${REFRESH}`, [String(uid), home, ...keptPatterns(foundation.record)], { way });
      return home;
    },
    give: async (path) => {
      const { given } = foundation.record;
      const { uid: ofUser, gid } = await lstat(path);
      if (!given.some((known) => known.path === path))
        foundation.record = { ...foundation.record, given: [...given, { path, uid: ofUser, gid }] };
      writeRoomRecord({ runFolder }, foundation.record);
      await changing(
        path,
        root.run(CHANGE_OWNER, [String(root.owner.uid), user, user, path], { timeoutMs: CHANGE_MS }),
      );
    },
    takeBack: async (path) => {
      const { given } = foundation.record;
      const taken = given.filter((known) => known.path === path);
      if (taken.length === 0) return false;
      for (const known of taken) await changing(path, giveBack(root, uid, known));
      // The agent's own folder is read and cleared by us; a tree keeps the modes that it has.
      if (path === folders.session) await changing(path, root.run(OPEN_UP, [path]));
      foundation.record = { ...foundation.record, given: given.filter((known) => known.path !== path) };
      writeRoomRecord({ runFolder }, foundation.record);
      return true;
    },
  };
}

/** What the room's user has of something that was given goes to us, and the thing itself to whom it was taken from. Rooms of earlier versions were given checkouts, all of which (`all`) may be another user's. */
export function giveBack(root: Root, uid: number, { path, all, ...top }: RoomRecord['given'][number]): Promise<string> {
  const { uid: toUser, gid: toGroup } = all === true ? top : root.owner;
  const owner = `${String(toUser)}:${String(toGroup)}`;
  return root.run(CHANGE_OWNER, [String(uid), owner, `${String(top.uid)}:${String(top.gid)}`, path], {
    timeoutMs: CHANGE_MS,
  });
}

/** What is not removed with other things of the room's user, as patterns of `find`. */
export function keptPatterns({ folder, given }: RoomRecord): readonly string[] {
  return [folder, ...given.map(({ path }) => path)].map((path) => path.replace(/[\\*?[\]]/g, '\\$&'));
}

/** Ends every process of a user: SIGTERM, and SIGKILL after `graceMs` until nothing is left. Returns what is left all the same. */
export async function endProcessesOf(root: Root, uid: number, graceMs: number): Promise<readonly string[]> {
  if (processesOf(uid).length === 0) return [];
  await signal(root, uid, 'TERM');
  const killAt = performance.now() + graceMs;
  while (processesOf(uid).length > 0 && performance.now() < killAt) await sleep(POLL_MS);
  const patience = createPatience(killAt, KILL_FOR_MS);
  for (
    let left = processesOf(uid);
    left.length > 0 && !patience.isOver(left.length, performance.now());
    left = processesOf(uid)
  ) {
    await signal(root, uid, 'KILL');
    // As root, too: the one above runs as the very user, whose processes could be faster and end it.
    await root
      .run(
        KILL_EACH,
        processesOf(uid).map(({ pid }) => String(pid)),
      )
      .catch(() => undefined);
    const again = performance.now() + KILL_EVERY_MS;
    while (processesOf(uid).length > 0 && performance.now() < again) await sleep(POLL_MS);
  }
  return processesOf(uid).map(({ name, pid }) => `${name} (${String(pid)})`);
}

async function signal(root: Root, uid: number, name: 'TERM' | 'KILL'): Promise<void> {
  await root.run(SIGNAL, [String(uid), name]).catch(() => undefined);
}

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
