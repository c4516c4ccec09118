import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sandboxRecord, type SandboxRecord } from '../../core/isolation/room-record.ts';
import { tryJson } from '../../core/text/try-json.ts';
import { runProgram } from '../../processes/run-program.ts';
import { endRoom, ROOM_TAG, WORKER_TAG } from './end.ts';

const CHANGE_MS = 20_000;

const FILE = 'sandbox.json';

/** Where the conversation is in the folder of a run that has no room any more. */
const SESSION = 'agent';

/** From SIGTERM to SIGKILL for what nobody waits for any more. */
const GRACE_MS = 500;

/** Written before what it names is made, so that a kill at any instant leaves nothing unknown. */
export function writeSandboxRecord(runFolder: string, record: SandboxRecord): void {
  const next = join(runFolder, `${FILE}.next`);
  writeFileSync(next, JSON.stringify(record), { mode: 0o600 });
  renameSync(next, join(runFolder, FILE));
}

/**
 * Ends every process of a room that was made without root, and removes the room but for the conversation, which goes to
 * the run's folder; returns the processes that are left, as words. Does nothing where a run has none. Safe to repeat.
 */
export async function removeSandboxRoom(runFolder: string): Promise<readonly string[]> {
  const record = readRecord(runFolder);
  if (record === null) return [];
  const left = [
    ...(await endRoom(record.id, { graceMs: GRACE_MS, tag: ROOM_TAG })),
    ...(await endRoom(record.id, { graceMs: GRACE_MS, tag: WORKER_TAG })),
  ];
  keepSession(join(record.folder, 'session'), join(runFolder, SESSION));
  await removeAll(record.folder);
  // Whoever looks next finds nothing left to do.
  if (left.length === 0) rmSync(join(runFolder, FILE), { force: true });
  return left;
}

function readRecord(runFolder: string): SandboxRecord | null {
  try {
    const parsed = sandboxRecord.safeParse(tryJson(readFileSync(join(runFolder, FILE), 'utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

function namesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

function keepSession(from: string, to: string): void {
  // A room that nothing ran in, such as one of a failed try, keeps nothing; and what was kept stays.
  if (namesIn(from).length === 0 || namesIn(to).length > 0) return;
  try {
    renameSync(from, to);
  } catch {
    // Another disk.
    cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  }
}

/** Removes a folder, also one with subfolders that nobody may enter. Links are not followed. */
export async function removeAll(path: string): Promise<void> {
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
