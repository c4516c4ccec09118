import { lstat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { UserError } from '../../errors.ts';
import type { RoomRecord } from '../../core/isolation/room-record.ts';
import type { Room } from '../../ports/room.ts';
import { createPatience } from '../../processes/process-tree.ts';
import { createLaunches } from './launch.ts';
import { processesOf } from './processes-of.ts';
import { writeRoomRecord } from './record.ts';
import { SYSTEM_PATH, type Root } from './root.ts';
import { sealOfPrograms } from './seal.ts';
import { CHANGE_OWNER, KILL_EACH, OPEN_UP, REFRESH, SIGNAL } from './scripts.ts';

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
