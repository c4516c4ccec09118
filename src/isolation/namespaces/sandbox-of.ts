import { chmodSync, existsSync, realpathSync, statSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isKeptClosed, findModeBefore, type AgentSandboxRecord } from '../../core/isolation/sandbox-record.ts';
import { UserError } from '../../errors.ts';
import type { AgentSandbox } from '../../ports/agent-sandbox.ts';
import { createKillDeadline } from '../../processes/process-tree.ts';
import { listPathAndAncestors } from '../../processes/trusted-programs.ts';
import { createLaunchFiles } from './launch.ts';
import { listAgentSandboxes, writeSandboxCopy, writeAgentSandboxRecord } from './record.ts';
import { type RootAccess, SYSTEM_PATH } from './root.ts';
import {
  CHANGE_OWNER_SCRIPT,
  KILL_EACH_SCRIPT,
  OPEN_UP_SCRIPT,
  GRANT_PASSAGE_SCRIPT,
  REFRESH_SCRIPT,
  SIGNAL_USER_SCRIPT,
} from './scripts.ts';
import { listUserProcesses, sealOfPrograms } from './seal.ts';

/** The folders, ports and programs of the machine that a sandbox uses. */
export interface AgentSandboxOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The run's private folder. */
  readonly runFolder: string;
  /** The runner's checkout, which the sandbox does not show: a tree takes its place. */
  readonly checkout: string;
  /** Folders of the runner that the sandbox does not show, except for paths that other options name. */
  readonly hidden: readonly string[];
  /** Folders that the sandbox shows read-only although they are in hidden folders. */
  readonly visible: readonly string[];
  /** Ports on this machine's 127.0.0.1 that the sandbox reaches at the same address. */
  readonly localPorts: readonly number[];
  /** The program and the first arguments of the action's worker. */
  readonly worker: { readonly file: string; readonly args: readonly string[] };
  /** The folder of the sandboxes and the folder in which user ids are reserved; tests use folders of their own. */
  readonly places: { readonly agentSandboxes: string; readonly reservations: string };
}

/** The user, the record and the commands on which a sandbox is built. */
export interface SandboxFoundation {
  readonly root: RootAccess;
  readonly runFolder: string;
  /** The user id of the sandbox's user. */
  readonly uid: number;
  /** The record as it is on disk. */
  record: AgentSandboxRecord;
  /** The command that leads root into the namespaces, to be put before a program; empty if there are no namespaces. */
  readonly way: readonly string[];
  /**
   * Like `way`, with a private mount that shows a tree at `place`, the path of the checkout; null if there are no
   * mounts.
   */
  readonly withTree: { readonly place: string; readonly way: (tree: string) => readonly string[] } | null;
  /** Shell commands that stop a program outside its sandbox. */
  readonly guard: string;
  /** Returns as a sentence why nothing can run in the sandbox any longer, or null while the sandbox exists. */
  readonly lost: () => string | null;
}

const POLL_MS = 25;

/** Time in ms during which SIGKILL is repeated after the last process ended, for processes forked in the meantime. */
const KILL_FOR_MS = 3_000;

const KILL_EVERY_MS = 200;

/** Maximum time for changing owners; a tree may have a hundred thousand files. */
const CHANGE_MS = 120_000;

/** Maximum number of processes of the sandbox's user, which stops a fork bomb. */
const MAX_PROCESSES = 4096;

/**
 * Returns the command that runs a program as a user without groups, capabilities or set-uid programs. The processes end
 * with the one that started them, and are sealed as far as this machine can do that.
 */
function asUser(root: RootAccess, uid: number): readonly string[] {
  const id = String(uid);
  return [
    ...[root.program('prlimit'), '--core=0', `--nproc=${String(MAX_PROCESSES)}`],
    ...[root.program('setpriv'), `--reuid=${id}`, `--regid=${id}`, '--clear-groups', '--no-new-privs'],
    ...['--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all', '--pdeathsig=KILL'],
    ...sealOfPrograms(),
  ];
}

/** Creates the AgentSandbox from its foundation. */
export function buildAgentSandbox(foundation: SandboxFoundation): AgentSandbox {
  const { root, runFolder, uid, way, withTree, guard, lost } = foundation;
  const { folder } = foundation.record;
  const folders = {
    home: `${folder}/home`,
    session: `${folder}/session`,
    trees: `${folder}/trees`,
    inbox: `${folder}/inbox`,
  };
  const launches = createLaunchFiles(folders.inbox);
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
      const left = await endUserProcesses(root, uid, graceMs);
      launches.clear();
      return left;
    },
    refresh: async () => {
      const home = `${folders.trees}/ralph-home`;
      await root.run(`${guard}${REFRESH_SCRIPT}`, [String(uid), home, ...listKeptPatterns(foundation.record)], { way });
      return home;
    },
    give: async (path) => {
      const { given } = foundation.record;
      const { uid: ofUser, gid } = await lstat(path);
      if (!given.some((known) => known.path === path))
        foundation.record = { ...foundation.record, given: [...given, { path, uid: ofUser, gid }] };
      writeAgentSandboxRecord({ runFolder }, foundation.record);
      await changing(
        path,
        root.run(CHANGE_OWNER_SCRIPT, [String(root.owner.uid), user, user, path], { timeoutMs: CHANGE_MS }),
      );
    },
    takeBack: async (path) => {
      const { given } = foundation.record;
      const taken = given.filter((known) => known.path === path);
      if (taken.length === 0) return false;
      for (const known of taken) await changing(path, giveFilesBack(root, uid, known));
      // Open up only the session's folder, which the action reads and clears; a tree keeps its modes.
      if (path === folders.session) await changing(path, root.run(OPEN_UP_SCRIPT, [path]));
      foundation.record = { ...foundation.record, given: given.filter((known) => known.path !== path) };
      writeAgentSandboxRecord({ runFolder }, foundation.record);
      return true;
    },
  };
}

/**
 * Gives files of the sandbox's user below a path to the runner's user, and the path itself to its previous owner.
 * Sandboxes of earlier versions were given checkouts that may belong entirely (`all`) to another user.
 */
export function giveFilesBack(
  root: RootAccess,
  uid: number,
  { path, all, ...top }: AgentSandboxRecord['given'][number],
): Promise<string> {
  const { uid: toUser, gid: toGroup } = all === true ? top : root.owner;
  const owner = `${String(toUser)}:${String(toGroup)}`;
  return root.run(CHANGE_OWNER_SCRIPT, [String(uid), owner, `${String(top.uid)}:${String(top.gid)}`, path], {
    timeoutMs: CHANGE_MS,
  });
}

/** Returns `find` patterns for the files to keep when other files of the sandbox's user are removed. */
export function listKeptPatterns({ folder, given }: AgentSandboxRecord): readonly string[] {
  return [folder, ...given.map(({ path }) => path)].map((path) => path.replace(/[\\*?[\]]/g, '\\$&'));
}

/**
 * Ends every process of a user: sends SIGTERM, then SIGKILL after `graceMs` until no process is left. Returns the
 * processes that could not be ended.
 */
export async function endUserProcesses(root: RootAccess, uid: number, graceMs: number): Promise<readonly string[]> {
  if (listUserProcesses(uid).length === 0) return [];
  await signal(root, uid, 'TERM');
  const killAt = performance.now() + graceMs;
  while (listUserProcesses(uid).length > 0 && performance.now() < killAt) await sleep(POLL_MS);
  const deadline = createKillDeadline(killAt, KILL_FOR_MS);
  for (
    let left = listUserProcesses(uid);
    left.length > 0 && !deadline.isOver(left.length, performance.now());
    left = listUserProcesses(uid)
  ) {
    await signal(root, uid, 'KILL');
    // Kill as root, too: a process of the same user sends the signal above, and the others could end it first.
    await root
      .run(
        KILL_EACH_SCRIPT,
        listUserProcesses(uid).map(({ pid }) => String(pid)),
      )
      .catch(() => undefined);
    const again = performance.now() + KILL_EVERY_MS;
    while (listUserProcesses(uid).length > 0 && performance.now() < again) await sleep(POLL_MS);
  }
  return listUserProcesses(uid).map(({ name, pid }) => `${name} (${String(pid)})`);
}

async function signal(root: RootAccess, uid: number, name: 'TERM' | 'KILL'): Promise<void> {
  await root.run(SIGNAL_USER_SCRIPT, [String(uid), name]).catch(() => undefined);
}

/**
 * Lets the sandbox's user reach its folder and programs, and closes the folders of the checkout and of the runner's
 * file commands, the job's temporary folder and the runner's home folder to that user. Throws IsolationUnavailable if
 * that is impossible.
 */
export async function makeReachable(foundation: SandboxFoundation, options: AgentSandboxOptions): Promise<void> {
  const { root, runFolder, uid } = foundation;
  const { checkout, visible, worker, environment, places } = options;
  const { folder } = foundation.record;
  const needed = [folder, ...visible, worker.file, ...worker.args.filter((arg) => arg.startsWith('/'))];
  const programs = needed.filter(existsSync);
  const above = [
    ...new Set(programs.flatMap((path) => listPathAndAncestors(dirname(realpathSync(path))).toReversed())),
  ];
  // Read the records before the permissions, because a run whose record is gone has restored them.
  const others = otherSandboxes(foundation, places);
  // The user may pass through the temporary folder if a program is in it, so the file commands in it are closed too.
  const commands = dirname(join('/', environment['GITHUB_ENV'] ?? ''));
  const open = [environment['RUNNER_TEMP'], environment['HOME'], dirname(checkout), commands].flatMap((path) =>
    openToOthers(path, root.owner.uid, others),
  );
  // Write the record before anything changes, so that a killed run's changes can be undone.
  foundation.record = {
    ...foundation.record,
    opened: above.slice(0, 100).map((path) => ({ path, isPlain: false })),
    closed: open,
  };
  writeAgentSandboxRecord({ runFolder }, foundation.record);
  for (const { path } of open) {
    // Keep the right to pass through if the user of a sandbox may need it; it does not show the folder's content.
    const isPassed = findModeBefore(path, others) !== null && (statSync(path).mode & 0o001) !== 0;
    chmodSync(path, above.includes(path) || isPassed ? 0o711 : 0o700);
  }
  const printed = await root.run(GRANT_PASSAGE_SCRIPT, [String(uid), ...above]);
  const lines = new Set(printed.split('\n'));
  const opened = above.flatMap((path) => {
    const isPlain = lines.has(`plain ${path}`);
    return isPlain || lines.has(`listed ${path}`) ? [{ path, isPlain }] : [];
  });
  foundation.record = { ...foundation.record, opened };
  writeAgentSandboxRecord({ runFolder }, foundation.record);
}

/**
 * Returns a folder of the runner, with its mode, if others may look into it or could before another sandbox closed it.
 * Such folders contain the files that steer a job.
 */
function openToOthers(
  path: string | undefined,
  uid: number,
  others: readonly AgentSandboxRecord[],
): readonly { readonly path: string; readonly mode: number }[] {
  if (path === undefined || path === '') return [];
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true || (stats.uid !== uid && uid !== 0) || realpathSync(path) === '/') return [];
  const real = realpathSync(path);
  const before = findModeBefore(real, others);
  // Ignore the group's right to pass, which shows only that an access list lets others pass.
  if (before === null && (stats.mode & 0o067) === 0) return [];
  return [{ path: real, mode: before ?? stats.mode & 0o7777 }];
}

/** Returns the sandboxes of this user's other runs on this machine. */
function otherSandboxes(
  { root, record }: Pick<SandboxFoundation, 'root' | 'record'>,
  places: AgentSandboxOptions['places'],
): readonly AgentSandboxRecord[] {
  return listAgentSandboxes(realpathSync(places.agentSandboxes), root.owner.uid)
    .map((known) => known.record)
    .filter(({ folder }) => folder !== record.folder);
}

/**
 * Restores the permissions of folders, except for those that another run's sandbox needs closed: that sandbox restores
 * them.
 */
export function restoreClosedFolders(
  { root, record }: Pick<SandboxFoundation, 'root' | 'record'>,
  places: AgentSandboxOptions['places'],
): void {
  // Write this first, so that of two sandboxes that end at once, at least one sees that the other is leaving.
  writeSandboxCopy({ ...record, isLeaving: true });
  const isKept = (path: string): boolean => isKeptClosed(path, otherSandboxes({ root, record }, places));
  for (const { path, mode } of record.closed) {
    const shut = statSync(path, { throwIfNoEntry: false })?.mode;
    if (shut === undefined || isKept(path)) continue;
    chmodSync(path, mode);
    // Close the folder again if a sandbox that was made in the meantime needs it closed.
    if (isKept(path)) chmodSync(path, shut & 0o711);
  }
}
