import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { toOneLine } from '../../core/text/phrase.ts';
import {
  createKillDeadline,
  membersOfTree,
  type ProcessEntry,
  readProcessTable,
} from '../../processes/process-tree.ts';

/** The variable that tags the library's processes in a sandbox; the sandbox's programs run without it. */
export const SANDBOX_TAG = 'RALPH_SANDBOX';
/** The variable that tags the worker and its bridges, which stay while programs come and go. */
export const WORKER_TAG = 'RALPH_SANDBOX_WORKER';

const POLL_MS = 25;
/** Time in ms during which SIGKILL is repeated after the last process ended. */
const KILL_FOR_MS = 2_000;

/**
 * Ends the programs in a sandbox or, with `WORKER_TAG`, the worker: sends SIGTERM, then SIGKILL after `graceMs` until
 * no process is left. Returns the names of the processes that could not be ended.
 */
export async function endAgentSandbox(
  id: string,
  { graceMs, tag }: { readonly graceMs: number; readonly tag: typeof SANDBOX_TAG | typeof WORKER_TAG },
): Promise<readonly string[]> {
  const killAt = performance.now() + graceMs;
  const deadline = createKillDeadline(killAt, KILL_FOR_MS);
  const asked = new Set<number>();
  for (let left = inside(`${tag}=${id}`); left.length > 0; left = inside(`${tag}=${id}`)) {
    const now = performance.now();
    if (deadline.isOver(left.length, now)) return left.map(({ pid }) => `${nameOfProcess(pid)} (${String(pid)})`);
    const isDue = now >= killAt;
    for (const { pid, tagged } of left) {
      // Do not ask a process with the sandbox's tag to end: it ends by itself after its program, and would otherwise
      // take the program with it.
      if (!isDue && ((tagged && tag === SANDBOX_TAG) || asked.has(pid))) continue;
      asked.add(pid);
      send(pid, isDue ? 'SIGKILL' : 'SIGTERM');
    }
    await sleep(POLL_MS);
  }
  return [];
}

/**
 * Returns the processes of a sandbox. All of them descend from a tagged one: a process that loses its parent becomes a
 * child of the first process in its namespace.
 */
function inside(variable: string): ProcessEntry[] {
  return membersOfTree({ runTag: null, group: null }, readProcessTable(variable).entries, new Set());
}

function nameOfProcess(pid: number): string {
  return toOneLine(
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
    // Read nothing if the process has ended in the meantime, or belongs to another user.
    return Buffer.alloc(0);
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process is gone.
  }
}
