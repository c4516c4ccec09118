import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { oneLine } from '../../core/text/phrase.ts';
import { createPatience, membersOfTree, type ProcessEntry, readProcessTable } from '../../processes/process-tree.ts';

/** Variable of the library's processes in a room; programs in it get an environment without it. */
export const ROOM_TAG = 'RALPH_ROOM';
/** The same of the worker and its bridges, which stay while programs come and go. */
export const WORKER_TAG = 'RALPH_ROOM_WORKER';

const POLL_MS = 25;
/** SIGKILL is sent again for this long after the last one that ended. */
const KILL_FOR_MS = 2_000;

/**
 * Ends the programs in a room, and with `WORKER_TAG` the worker: SIGTERM, and SIGKILL after `graceMs` until nothing is
 * left. Returns what is left all the same, as words.
 */
export async function endRoom(
  id: string,
  { graceMs, tag }: { readonly graceMs: number; readonly tag: typeof ROOM_TAG | typeof WORKER_TAG },
): Promise<readonly string[]> {
  const killAt = performance.now() + graceMs;
  const patience = createPatience(killAt, KILL_FOR_MS);
  const asked = new Set<number>();
  for (let left = inside(`${tag}=${id}`); left.length > 0; left = inside(`${tag}=${id}`)) {
    const now = performance.now();
    if (patience.isOver(left.length, now)) return left.map(({ pid }) => `${nameOf(pid)} (${String(pid)})`);
    const isDue = now >= killAt;
    for (const { pid, tagged } of left) {
      // What carries the room's tag ends by itself after the program in it, and before that it takes the program with it.
      if (!isDue && ((tagged && tag === ROOM_TAG) || asked.has(pid))) continue;
      asked.add(pid);
      send(pid, isDue ? 'SIGKILL' : 'SIGTERM');
    }
    await sleep(POLL_MS);
  }
  return [];
}

/** Whoever leaves its parent in a process namespace becomes a child of that namespace's first process: so all descend from what we started. */
function inside(variable: string): ProcessEntry[] {
  return membersOfTree({ runTag: null, group: null }, readProcessTable(variable).entries, new Set());
}

function nameOf(pid: number): string {
  return oneLine(
    read(`/proc/${String(pid)}/comm`)
      .toString()
      .trim(),
    30,
  );
}

function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    // It has ended in the meantime, or belongs to somebody else.
    return Buffer.alloc(0);
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone.
  }
}
