import { readdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * An entry of the process table. `startedAt`, in clock ticks since boot, distinguishes a process from a later one with
 * the same id.
 */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly startedAt: string;
  readonly tagged: boolean;
}

/** The result of one look at the process table. */
interface ProcessTable {
  readonly entries: readonly ProcessEntry[];
  /** True if a process is between two programs: for a moment its environment, and so its tag, cannot be read. */
  readonly isUnsure: boolean;
}

/** The flag PF_KTHREAD of Linux: a thread of the kernel, which has no environment. */
const KERNEL_THREAD = 0x0020_0000;

/** The flag PF_FORKNOEXEC of Linux: a child that still is a copy of its parent. */
const FORKED_ONLY = 0x0000_0040;

/**
 * The environment variable that every process of a run's agent inherits, even if it moves to another session or parent.
 */
export const RUN_TAG_NAME = 'RALPH_RUN_TAG';

/** The processes to end: those with the run tag, those of the group (null: no group), and their descendants. */
interface Tree {
  readonly runTag: string | null;
  readonly group: number | null;
}

const POLL_MS = 25;

/** Time from SIGTERM to SIGKILL for processes that nobody waits for. */
const SWEEP_GRACE_MS = 500;

/** Time in ms during which SIGKILL is repeated after the last process ended, for processes forked in the meantime. */
const KILL_FOR_MS = 2_000;

/** Maximum wait in ms for a process whose tag cannot be read yet, while no other process is left. */
const UNSURE_MS = 1_000;

/**
 * Ends a process tree: sends SIGTERM to the group, so that its leader can end its own children, and to the other
 * processes once the leader is gone. After `graceMs` sends SIGKILL until no process is left. Resolves at once if there
 * is no process.
 */
export async function endTree(tree: Tree, graceMs: number): Promise<void> {
  const known = new Set<string>();
  const warned = new Set<number>();
  const killAt = performance.now() + graceMs;
  const deadline = createKillDeadline(killAt, KILL_FOR_MS);
  let emptySince: number | null = null;
  // Require two looks in a row that find no process, because a single look may miss a child whose parent ends in the
  // meantime.
  for (let sureLooks = 0; sureLooks < 2;) {
    const { alive, isUnsure } = survivors(tree, known);
    const now = performance.now();
    emptySince = alive.length > 0 ? null : (emptySince ?? now);
    if (deadline.isOver(alive.length, now) || (emptySince !== null && now >= emptySince + UNSURE_MS)) return;
    sureLooks = alive.length > 0 || isUnsure ? 0 : sureLooks + 1;
    const leads = alive.some((pid) => pid === tree.group);
    for (const pid of alive) {
      const target = pid === tree.group ? -pid : pid;
      if (now >= killAt) send(target, 'SIGKILL');
      else if (!warned.has(pid) && (pid === tree.group || !leads)) {
        send(target, 'SIGTERM');
        warned.add(pid);
      }
    }
    if (sureLooks === 0) await sleep(POLL_MS);
  }
}

/**
 * Creates the deadline for repeating SIGKILL. It ends `forMs` after the first check from `killAt` on, and starts again
 * whenever a check finds fewer processes than all before, because a busy machine may be slow.
 */
export function createKillDeadline(
  killAt: number,
  forMs: number,
): { readonly isOver: (left: number, now: number) => boolean } {
  let fewest = Number.POSITIVE_INFINITY;
  let until = Number.POSITIVE_INFINITY;
  return {
    isOver: (left, now) => {
      if (now < killAt) return false;
      if (left < fewest) {
        fewest = left;
        until = now + forMs;
      }
      return now >= until;
    },
  };
}

/** Ends every process that carries the run tag. */
export function endTagged(runTag: string): Promise<void> {
  return endTree({ runTag, group: null }, SWEEP_GRACE_MS);
}

/** Returns false for a child that was ended before it started its program; true on systems that do not show this. */
export function hasStartedProgram(pid: number): boolean {
  const [, fields] = fieldsOf(read(String(pid), 'stat'));
  return (Number(fields[6] ?? 0) & FORKED_ONLY) === 0;
}

/** Sends a signal to all processes of a group at once. */
export function signalGroup(group: number, signal: NodeJS.Signals): void {
  send(-group, signal);
}

/** Returns the members of a tree: processes that are tagged, in the group or seen before, and their descendants. */
export function membersOfTree(
  tree: Tree,
  processes: readonly ProcessEntry[],
  known: ReadonlySet<string>,
): ProcessEntry[] {
  const inside = new Set(
    processes
      .filter((entry) => entry.tagged || entry.group === tree.group || known.has(identityOf(entry)))
      .map((entry) => entry.pid),
  );
  for (let before = -1; before < inside.size;) {
    before = inside.size;
    for (const entry of processes) if (inside.has(entry.parent)) inside.add(entry.pid);
  }
  return processes.filter((entry) => inside.has(entry.pid));
}

function survivors(tree: Tree, known: Set<string>): { readonly alive: readonly number[]; readonly isUnsure: boolean } {
  if (process.platform !== 'linux')
    return { alive: tree.group !== null && send(-tree.group, 0) ? [tree.group] : [], isUnsure: false };
  const { entries, isUnsure } = readProcessTable(tree.runTag === null ? null : `${RUN_TAG_NAME}=${tree.runTag}`);
  const members = membersOfTree(tree, entries, known).filter((entry) => entry.pid !== process.pid && entry.pid !== 1);
  // Remember members by their identity: a child without the tag cannot be found once its parent has died.
  for (const entry of members) known.add(identityOf(entry));
  return { alive: members.map((entry) => entry.pid), isUnsure };
}

function identityOf(entry: ProcessEntry): string {
  return `${entry.pid}:${entry.startedAt}`;
}

/** Sends a signal; returns false if no process can receive it. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Reads Linux's process table; a process is `tagged` if its environment contains `tag` (`NAME=value`). */
export function readProcessTable(tag: string | null): ProcessTable {
  const wanted = Buffer.from(`${tag}\0`);
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const seen = pids.flatMap((pid) => {
    const stat = parseStat(read(pid, 'stat'));
    if (stat === null) return [];
    const environment = tag === null ? null : read(pid, 'environ');
    return [
      {
        entry: { ...stat, tagged: environment?.includes(wanted) === true },
        // Read the line again, because the earlier one may describe the program before this one.
        isUnsure: environment?.length === 0 && isBetweenPrograms(String(read(pid, 'stat') ?? '')),
      },
    ];
  });
  return { entries: seen.map(({ entry }) => entry), isUnsure: seen.some(({ isUnsure }) => isUnsure) };
}

/** Parses `/proc/<pid>/stat`; returns null for a process that is gone or a zombie, which nothing can end. */
export function parseStat(line: Buffer | string | null): Omit<ProcessEntry, 'tagged'> | null {
  const [pid, fields] = fieldsOf(line);
  const [state, parent, group] = fields;
  const startedAt = fields[19];
  if (
    state === undefined ||
    parent === undefined ||
    group === undefined ||
    startedAt === undefined ||
    /^[ZX]$/.test(state)
  )
    return null;
  return { pid, parent: Number(parent), group: Number(group), startedAt };
}

/**
 * Returns true if a process, by its line in `/proc/<pid>/stat`, has an empty environment only because it is starting
 * its program.
 */
export function isBetweenPrograms(line: string): boolean {
  const [, fields] = fieldsOf(line);
  const [flags, begin, end] = [fields[6], fields[47], fields[48]];
  if (parseStat(line) === null || flags === undefined || end === undefined) return false;
  // Exclude a program that was started without an environment (`env -i`), which has a place of length 0 for it.
  return (Number(flags) & KERNEL_THREAD) === 0 && (end === '0' || begin !== end);
}

/**
 * Returns the process id and the fields from the state on. The second field is the program's name in parentheses, which
 * may contain parentheses and blanks itself.
 */
function fieldsOf(line: Buffer | string | null): [pid: number, fieldsFromState: readonly string[]] {
  const text = String(line ?? '');
  return [Number.parseInt(text, 10), text.slice(text.lastIndexOf(')') + 2).split(' ')];
}

/** Reads a file of a process; returns null if the process is gone or belongs to another user. */
function read(pid: string, file: 'stat' | 'environ'): Buffer | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`);
  } catch {
    return null;
  }
}

/** A Node program that opens listening sockets where this process cannot, and passes them here through descriptor 0. */
interface Opener {
  readonly file: string;
  readonly args: readonly string[];
  readonly timeoutMs: number;
}

/** Receives `count` listening sockets, in the order of their arrival. Rejects if fewer arrive in time. */
export async function receiveServers({ file, args, timeoutMs }: Opener, count: number): Promise<readonly Server[]> {
  const { execa } = await import('execa');
  const servers: Server[] = [];
  const opener = execa(file, args, {
    cwd: '/',
    env: { LC_ALL: 'C', NODE_CHANNEL_FD: '0' },
    extendEnv: false,
    detached: true,
    // Use descriptor 0 as the channel, because sudo closes every descriptor above the first three.
    stdio: ['ipc', 'ignore', 'ignore'],
    // Send JSON, which Node expects if the variables of this process are missing.
    serialization: 'json',
    reject: false,
    buffer: false,
  });
  const all = new Promise<boolean>((resolve) => {
    opener.on('message', (_, server) => {
      if (server !== undefined) servers.push(server as Server);
      if (servers.length === count) resolve(true);
    });
    opener.once('exit', () => {
      resolve(false);
    });
    opener.once('error', () => {
      resolve(false);
    });
  });
  try {
    const hasAll = await Promise.race([all, sleep(timeoutMs, false, { ref: false })]);
    if (hasAll) return servers;
    for (const server of servers) server.close();
    throw new Error(`only ${String(servers.length)} of ${String(count)} sockets came`);
  } finally {
    if (opener.connected) opener.disconnect();
    if (opener.pid !== undefined) signalGroup(opener.pid, 'SIGKILL');
  }
}
