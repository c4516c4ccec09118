import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Environment variable that every process of a run's agent inherits, whatever session or parent it moves to. */
export const RUN_TAG_NAME = 'RALPH_RUN_TAG';

/** Which processes to end: those with the run tag, those of the group (null: of none), and their descendants. */
export interface Tree {
  readonly runTag: string | null;
  readonly group: number | null;
}

/** One line of the process table. `startedAt` (clock ticks since boot) tells a process from a later one with its id. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly startedAt: string;
  readonly tagged: boolean;
}

const POLL_MS = 25;
/** From SIGTERM to SIGKILL for what nobody waits for any more. */
const SWEEP_GRACE_MS = 500;
/** SIGKILL is sent again to what was forked in the meantime, for at most this long. */
const KILL_FOR_MS = 2_000;

/**
 * Ends a process tree: SIGTERM to the group, so that its leader can end its own children; SIGTERM to the rest once the
 * leader is gone; after `graceMs` SIGKILL, repeated until nothing is left. Resolves at once when there is nothing.
 */
export async function endTree(tree: Tree, graceMs: number): Promise<void> {
  const known = new Set<string>();
  const warned = new Set<number>();
  const killAt = performance.now() + graceMs;
  for (let alive = survivors(tree, known); alive.length > 0; alive = survivors(tree, known)) {
    const now = performance.now();
    if (now >= killAt + KILL_FOR_MS) return;
    const leads = alive.some((pid) => pid === tree.group);
    for (const pid of alive) {
      const target = pid === tree.group ? -pid : pid;
      if (now >= killAt) send(target, 'SIGKILL');
      else if (!warned.has(pid) && (pid === tree.group || !leads)) {
        send(target, 'SIGTERM');
        warned.add(pid);
      }
    }
    await sleep(POLL_MS);
  }
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
export function membersOf(tree: Tree, processes: readonly ProcessEntry[], known: ReadonlySet<string>): ProcessEntry[] {
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

function survivors(tree: Tree, known: Set<string>): number[] {
  if (process.platform !== 'linux') return tree.group !== null && send(-tree.group, 0) ? [tree.group] : [];
  const members = membersOf(tree, readProcesses(tree.runTag), known).filter(
    (entry) => entry.pid !== process.pid && entry.pid !== 1,
  );
  // A child without the tag is found through its parent; it is remembered for the time after its parent has died.
  for (const entry of members) known.add(identityOf(entry));
  return members.map((entry) => entry.pid);
}

function identityOf(entry: ProcessEntry): string {
  return `${entry.pid}:${entry.startedAt}`;
}

function readProcesses(runTag: string | null): ProcessEntry[] {
  const wanted = Buffer.from(`${RUN_TAG_NAME}=${runTag}`);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const stat = parseStat(read(`/proc/${name}/stat`).toString());
      if (stat === null) return [];
      return [{ ...stat, tagged: runTag !== null && read(`/proc/${name}/environ`).includes(wanted) }];
    });
}

/** Reads `/proc/<pid>/stat`; null for a process that is gone or a zombie, which nothing can end. */
export function parseStat(text: string): Omit<ProcessEntry, 'tagged'> | null {
  // The second field is the program's name in brackets; it may hold brackets and blanks itself.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
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
  return { pid: Number.parseInt(text, 10), parent: Number(parent), group: Number(group), startedAt };
}

/** Empty for a process that is gone or belongs to somebody else. */
function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}

/** Whether there was somebody to receive it. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
