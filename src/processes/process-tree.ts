import { readdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** One line of the process table. `startedAt` (clock ticks since boot) tells a process from a later one with its id. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly startedAt: string;
  readonly tagged: boolean;
}

/** What one look at the process table saw. */
interface ProcessTable {
  readonly entries: readonly ProcessEntry[];
  /** A process is between two programs: for a moment its environment, and so its tag, cannot be read. */
  readonly isUnsure: boolean;
}

/** PF_KTHREAD of Linux: the kernel's own, without an environment. */
const KERNEL_THREAD = 0x0020_0000;

/** Environment variable that every process of a run's agent inherits, whatever session or parent it moves to. */
export const RUN_TAG_NAME = 'RALPH_RUN_TAG';

/** Which processes to end: those with the run tag, those of the group (null: of none), and their descendants. */
interface Tree {
  readonly runTag: string | null;
  readonly group: number | null;
}

const POLL_MS = 25;

/** From SIGTERM to SIGKILL for what nobody waits for any more. */
const SWEEP_GRACE_MS = 500;

/** SIGKILL is sent again to what was forked in the meantime, for this long after the last one that ended. */
const KILL_FOR_MS = 2_000;

/** Nobody but somebody whose tag cannot be read yet is nobody after this long. */
const UNSURE_MS = 1_000;

/**
 * Ends a process tree: SIGTERM to the group, so that its leader can end its own children; SIGTERM to the rest once the
 * leader is gone; after `graceMs` SIGKILL, repeated until nothing is left. Resolves at once when there is nothing.
 */
export async function endTree(tree: Tree, graceMs: number): Promise<void> {
  const known = new Set<string>();
  const warned = new Set<number>();
  const killAt = performance.now() + graceMs;
  const patience = createPatience(killAt, KILL_FOR_MS);
  let emptySince: number | null = null;
  // A single look may miss a child whose parent ended while we looked: nobody is there when two in a row find nobody.
  for (let sureLooks = 0; sureLooks < 2;) {
    const { alive, isUnsure } = survivors(tree, known);
    const now = performance.now();
    emptySince = alive.length > 0 ? null : (emptySince ?? now);
    if (patience.isOver(alive.length, now) || (emptySince !== null && now >= emptySince + UNSURE_MS)) return;
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
 * How long to go on killing: for `forMs` from the first look after `killAt`, however late a busy machine comes to it, and
 * again from each look that finds fewer than any before.
 */
export function createPatience(
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

/** Sends a signal to all of a group at once. */
export function sendToGroup(group: number, signal: NodeJS.Signals): void {
  send(-group, signal);
}

/** The members of a tree: tagged, of the group, seen before, or descended from such a one. */
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
  // A child without the tag is found through its parent; it is remembered for the time after its parent has died.
  for (const entry of members) known.add(identityOf(entry));
  return { alive: members.map((entry) => entry.pid), isUnsure };
}

function identityOf(entry: ProcessEntry): string {
  return `${entry.pid}:${entry.startedAt}`;
}

/** Whether there was somebody to receive it. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Reads Linux's process table; `tag` (`NAME=value`) marks whoever has it in its environment. */
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
        // Its line is read once more: what was another program's would answer for the one that begins.
        isUnsure: environment?.length === 0 && isBetweenPrograms(String(read(pid, 'stat') ?? '')),
      },
    ];
  });
  return { entries: seen.map(({ entry }) => entry), isUnsure: seen.some(({ isUnsure }) => isUnsure) };
}

/** Reads `/proc/<pid>/stat`; null for a process that is gone or a zombie, which nothing can end. */
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

/** Whether a process whose environment is read as empty has one that is not there yet, by its `/proc/<pid>/stat`. */
export function isBetweenPrograms(line: string): boolean {
  const [, fields] = fieldsOf(line);
  const [flags, begin, end] = [fields[6], fields[47], fields[48]];
  if (parseStat(line) === null || flags === undefined || end === undefined) return false;
  // One that was started with none (`env -i`) has a place for it, of no length.
  return (Number(flags) & KERNEL_THREAD) === 0 && (end === '0' || begin !== end);
}

/** The second field is the program's name in brackets; it may hold brackets and blanks itself. */
function fieldsOf(line: Buffer | string | null): [pid: number, fieldsFromState: readonly string[]] {
  const text = String(line ?? '');
  return [Number.parseInt(text, 10), text.slice(text.lastIndexOf(')') + 2).split(' ')];
}

/** null for a process that is gone or belongs to somebody else. */
function read(pid: string, file: 'stat' | 'environ'): Buffer | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`);
  } catch {
    return null;
  }
}

/** A program that opens listening sockets where we cannot, and hands them to us: Node, with its channel on descriptor 0. */
interface Opener {
  readonly file: string;
  readonly args: readonly string[];
  readonly timeoutMs: number;
}

/** Receives so many listening sockets, in the order in which they come. Rejects when fewer came in time. */
export async function receiveServers({ file, args, timeoutMs }: Opener, count: number): Promise<readonly Server[]> {
  const { execa } = await import('execa');
  const servers: Server[] = [];
  const opener = execa(file, args, {
    cwd: '/',
    env: { LC_ALL: 'C', NODE_CHANNEL_FD: '0' },
    extendEnv: false,
    detached: true,
    // sudo closes every descriptor above the first three.
    stdio: ['ipc', 'ignore', 'ignore'],
    // What Node takes for granted where nothing else is said: nothing of our environment goes along.
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
    if (opener.pid !== undefined) sendToGroup(opener.pid, 'SIGKILL');
  }
}
