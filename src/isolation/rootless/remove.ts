import { cpSync, existsSync, readdirSync, renameSync, rmSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { rootlessRecord, type RootlessRecord } from '../../core/isolation/sandbox-record.ts';
import { runProgram } from '../../processes/run-program.ts';
import { readRecordFile, writeRecordFile } from '../namespaces/record.ts';
import { toOneLine } from '../../core/text/phrase.ts';
import {
  createKillDeadline,
  membersOfTree,
  type ProcessEntry,
  readProcessTable,
} from '../../processes/process-tree.ts';

const CHANGE_MS = 20_000;

const FILE = 'sandbox.json';

/** Folder of the session in the folder of a run that no longer has a sandbox. */
const SESSION = 'agent';

/** Time from SIGTERM to SIGKILL for processes that nobody waits for. */
const GRACE_MS = 500;

/**
 * Writes the record before the things that it names are created, so that a kill at any instant leaves nothing
 * unrecorded.
 */
export function writeRootlessRecord(runFolder: string, record: RootlessRecord): void {
  writeRecordFile(runFolder, FILE, record);
}

/**
 * Ends every process of a sandbox made without root, and removes the sandbox except for the session, which moves to the
 * run's folder. Returns the names of processes that could not be ended. Does nothing if the run has no sandbox. Safe to
 * repeat.
 */
export async function removeRootlessSandbox(runFolder: string): Promise<readonly string[]> {
  const record = readRecordFile(join(runFolder, FILE), rootlessRecord);
  if (record === null) return [];
  const left = [
    ...(await endAgentSandbox(record.id, { graceMs: GRACE_MS, tag: SANDBOX_TAG })),
    ...(await endAgentSandbox(record.id, { graceMs: GRACE_MS, tag: WORKER_TAG })),
  ];
  moveSession(join(record.folder, 'session'), join(runFolder, SESSION));
  await removeClosedFolder(record.folder);
  // Remove the record last, because later calls do nothing without it.
  if (left.length === 0) rmSync(join(runFolder, FILE), { force: true });
  return left;
}

function listFolderNames(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

function moveSession(from: string, to: string): void {
  // Keep an earlier session: a sandbox in which nothing ran, such as one of a failed attempt, has none.
  if (listFolderNames(from).length === 0 || listFolderNames(to).length > 0) return;
  try {
    renameSync(from, to);
  } catch {
    // Copy the folder if the target is on another disk.
    cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  }
}

/** Removes a folder, even if subfolders deny access to everybody. Links are not followed. */
export async function removeClosedFolder(path: string): Promise<void> {
  if (!existsSync(path)) return;
  const isGone = await rm(path, { recursive: true, force: true }).then(
    () => true,
    () => false,
  );
  if (isGone) return;
  await runProgram({
    ...{ file: '/bin/chmod', args: ['-R', 'u+rwX', '--', path], cwd: '/', environment: {}, input: '' },
    ...{ timeoutMs: CHANGE_MS, signal: null, outputs: [() => undefined, () => undefined] },
    family: { kind: 'group', graceMs: 0, leftover: 'end' },
  });
  await rm(path, { recursive: true, force: true });
}

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
