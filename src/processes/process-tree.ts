import { setTimeout as sleep } from 'node:timers/promises';
import { readProcessTable, type ProcessEntry } from './process-table.ts';

/** Environment variable that every process of a run's agent inherits, whatever session or parent it moves to. */
export const RUN_TAG_NAME = 'RALPH_RUN_TAG';

/** Which processes to end: those with the run tag, those of the group (null: of none), and their descendants. */
export interface Tree {
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
