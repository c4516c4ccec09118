import { cpSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { rootlessRecord, type RootlessRecord } from '../../core/isolation/sandbox-record.ts';
import { runProgram } from '../../processes/run-program.ts';
import { endAgentSandbox, SANDBOX_TAG, WORKER_TAG } from './end.ts';
import { readRecordFile, writeRecordFile } from '../namespaces/record.ts';

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
