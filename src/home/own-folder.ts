import { randomUUID } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Folder } from '../core/folder.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import { tryJson } from '../core/text/try-json.ts';
import { getErrorMessage, UserError } from '../errors.ts';
import type { NamedTexts } from '../ports/state.ts';
import { appendToPlainFile } from '../files/plain-file.ts';

/** The signals that end a process, with the exit code for each; a closed terminal (SIGHUP) is not a failure. */
const ENDS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 0 } as const;

/** The kind of entry at the path of one of Ralph's files: no entry, a file, or any other kind. */
type Place = 'free' | 'file' | 'other';

/** The folder of a person's checkout that a run works for; `top` is the checkout's top folder. */
export interface WorkedFolder {
  readonly top: string;
  readonly folder: Folder;
}

/** The folders of a run's files, by the parts of their paths below the folder that the run works for. */
export interface RunFilePlaces {
  readonly status: readonly string[];
  readonly logs: readonly string[];
}

const LOGS = ['.ralph', 'logs'];

/** The folders that the monitor and other programs watch. */
export const RUN_FILES: RunFilePlaces = { status: ['.ralph'], logs: LOGS };

/** Returns the folders of a lane that is worked on in parallel with the lane in `RUN_FILES`. */
export function runFilesBeside(lane: LaneId): RunFilePlaces {
  return { status: [...LOGS, lane], logs: [...LOGS, lane] };
}

/** A folder of the checkout for Ralph's files, in which nothing is ever written through a link. */
export interface OwnFolder {
  /** Replaces a file, completely or not at all; throws if something other than a file is in its place. */
  readonly replace: (name: string, text: string) => void;
  /** Makes an empty file that only its owner can read, in place of an earlier one; throws like `replace`. */
  readonly begin: (name: string) => void;
  /** Appends to a file and returns its new size in bytes; throws like `replace`. */
  readonly append: (name: string, text: string) => number;
  /** Renames a file, in place of a file with the new name; throws like `replace`. */
  readonly rename: (name: string, to: string) => void;
  readonly path: string;
}

/**
 * Makes a folder for Ralph's files, such as `.ralph` and `logs`, if it is missing; the folder around it must exist.
 * Throws if a part of the path below `top` is a link or not a folder. With `hides`, a `.gitignore` in it keeps all of
 * it out of git.
 */
export function openOwnFolder(
  { top, folder }: WorkedFolder,
  own: readonly string[],
  { hides }: { readonly hides: boolean },
): OwnFolder {
  let path = realpathSync(top);
  const theirs = folder.split('/').filter((part) => part !== '');
  for (const [index, part] of [...theirs, ...own].entries()) {
    path = join(path, part);
    if (lookAtPlace(path) === 'free') {
      if (index < theirs.length) throw new Error(`${path} does not exist`);
      mkdirSync(path);
    }
    refuseOthers(path);
  }
  if (hides && lookAtPlace(join(path, '.gitignore')) === 'free')
    writeFileSync(join(path, '.gitignore'), '*\n', { flag: 'wx' });
  /** Returns the path of a file; throws if something other than a file is in its place. */
  const fileOf = (name: string): string => {
    const file = join(path, name);
    if (lookAtPlace(file) === 'other') throw new Error(`${file} is a link, a folder or a pipe, so it is not written`);
    return file;
  };
  return {
    path,
    replace: (name, text) => {
      const file = fileOf(name);
      const beside = join(path, `.${name}.${randomUUID()}`);
      try {
        writeFileSync(beside, text, { flag: 'wx', mode: 0o644 });
        renameSync(beside, file);
      } finally {
        rmSync(beside, { force: true });
      }
    },
    begin: (name) => {
      const file = fileOf(name);
      rmSync(file, { force: true });
      writeFileSync(file, '', { flag: 'wx', mode: 0o600 });
    },
    append: (name, text) => appendToPlainFile(fileOf(name), text, 0o644),
    rename: (name, to) => {
      renameSync(fileOf(name), fileOf(to));
    },
  };
}

/** Throws if an existing part of a path below `top` is a link or not a folder; does not create missing parts. */
export function checkOwnFolder(top: string, parts: readonly string[]): void {
  let path = realpathSync(top);
  for (const part of parts) {
    path = join(path, part);
    if (lookAtPlace(path) !== 'free') refuseOthers(path);
  }
}

function refuseOthers(path: string): void {
  const stats = lstatSync(path);
  if (stats.isSymbolicLink()) throw new Error(`${path} is a link; put a folder in its place`);
  if (!stats.isDirectory()) throw new Error(`${path} is not a folder; put a folder in its place`);
}

function lookAtPlace(path: string): Place {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 'free';
  return stats.isFile() ? 'file' : 'other';
}

/**
 * Returns the folder of the run's journal, with an empty journal in place of the previous one. If the journal cannot be
 * in `.ralph/logs`, warns and returns `instead`.
 */
export function openJournalFolder(
  worked: WorkedFolder,
  options: { readonly logs: readonly string[]; readonly instead: string; readonly warn: (text: string) => void },
): string {
  const { logs, instead, warn } = options;
  try {
    const folder = openOwnFolder(worked, logs, { hides: true });
    folder.begin('journal.jsonl');
    return folder.path;
  } catch (error) {
    warn(`The journal cannot be kept in ${logs.join('/')} and is lost when this run ends: ${getErrorMessage(error)}.`);
    return instead;
  }
}

const claimSchema = z.object({
  version: z.literal(1),
  /** The number of this run among the runs of the checkout. */
  number: z.number().int().min(1),
  pid: z.number().int().positive(),
  /** The start of the process in the kernel's own words; null if it is unknown or the process has ended. */
  birth: z.string().max(100).nullable(),
  host: z.string().max(300),
  runTag: z.string().max(100),
  runFolder: z.string().max(4096),
  /** The folder of the repository that the run works for; its status and its logs are there. */
  folder: z.string().max(4096).default(''),
  startedAt: z.number().int().min(0),
  isOver: z.boolean(),
});

/** A run's claim to this checkout. */
export type RunClaim = z.infer<typeof claimSchema>;

/** The folder of a checkout that contains its state. */
export const STATE_FOLDER: readonly string[] = ['.ralph', 'state'];

/** The name of the text with the claim. */
const NAME = 'run';

const MAX_TRIES = 5;

/** A new claim. `left` is the previous run if it was killed and its leftovers must be removed, otherwise null. */
interface Claimed {
  readonly claim: RunClaim;
  readonly killed: RunClaim | null;
}

/** Throws a UserError if a part of the path to the state is a link or not a folder. */
export function checkStatePath(top: string): void {
  try {
    checkOwnFolder(top, STATE_FOLDER);
  } catch (error) {
    throw unwritableStateError(getErrorMessage(error));
  }
}

/** Claims the checkout for this process; throws a UserError if another run is alive in it. */
export async function claimRun(
  texts: NamedTexts,
  of: Pick<RunClaim, 'runTag' | 'folder' | 'startedAt'> & { readonly runFolderOf: (number: number) => string },
): Promise<Claimed> {
  for (let tried = 0; tried < MAX_TRIES; tried += 1) {
    const { head, last } = await readLastClaim(texts);
    if (last !== null && isAlive(last)) throw otherRunError(last);
    const number = (last?.number ?? 0) + 1;
    const claim: RunClaim = {
      ...{ version: 1, number, pid: process.pid, birth: birthOf(process.pid), host: hostname(), isOver: false },
      ...{ runTag: of.runTag, runFolder: of.runFolderOf(number), folder: of.folder, startedAt: of.startedAt },
    };
    const written = await texts.write(NAME, head, `${JSON.stringify(claim)}\n`);
    if (written.kind === 'written') return { claim, killed: last === null || last.isOver ? null : last };
    if (written.kind !== 'conflict') throw unwritableStateError(written.why);
  }
  throw new UserError('infrastructure', 'Several runs were started in this checkout at once. Start one of them again.');
}

/** Releases the checkout. */
export async function releaseRun(texts: NamedTexts, claim: RunClaim): Promise<void> {
  const { head, last } = await readLastClaim(texts);
  if (last?.runTag !== claim.runTag) return;
  await texts.write(NAME, head, `${JSON.stringify({ ...claim, isOver: true })}\n`);
}

/**
 * Returns the last run of this checkout, whether it is over or not, or null if there was no run or its claim cannot be
 * read.
 */
export async function readLastRun(texts: Pick<NamedTexts, 'read'>): Promise<RunClaim | null> {
  return (await readLastClaim(texts).catch(() => null))?.last ?? null;
}

/**
 * Returns the number that the next run would have, without claiming anything; 1 while a run is alive, because that run
 * keeps its number.
 */
export async function readNextRunNumber(texts: Pick<NamedTexts, 'read'>): Promise<number> {
  const last = await readLastRun(texts);
  return last === null || isAlive(last) ? 1 : last.number + 1;
}

/** Returns true if the last run of this checkout has ended or was killed, so that its leases are no longer valid. */
export async function isLastRunOver(texts: Pick<NamedTexts, 'read'>): Promise<boolean> {
  const last = await readLastRun(texts);
  return last !== null && !isAlive(last);
}

async function readLastClaim(
  texts: Pick<NamedTexts, 'read'>,
): Promise<{ readonly head: string | null; readonly last: RunClaim | null }> {
  const found = await texts.read(NAME);
  if (found.kind === 'unavailable') throw unwritableStateError(found.why);
  if (found.kind === 'absent') return { head: null, last: null };
  const parsed = claimSchema.safeParse(tryJson(found.text));
  return { head: found.head, last: parsed.success ? parsed.data : null };
}

/** Returns true if a run is alive. Also true for a run on another machine, because its process cannot be checked. */
function isAlive({ pid, birth, host, isOver }: RunClaim): boolean {
  if (isOver) return false;
  if (host !== hostname()) return true;
  if (birth !== null) return birthOf(pid) === birth;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Returns the boot and the tick in which a process started, which distinguish it from any other process with the same
 * id; null if this system does not provide them or there is no such process.
 */
function birthOf(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // Treat a zombie as dead, although its parent has not waited for it yet.
    return state === 'Z' ? null : `${boot} ${fields[18] ?? ''}`;
  } catch {
    return null;
  }
}

function otherRunError({ pid, host, startedAt }: RunClaim): UserError {
  const since = new Date(startedAt).toISOString().slice(0, 16).replace('T', ' ');
  const where = host === hostname() ? '' : ` on ${host}`;
  return new UserError(
    'configuration',
    `Another ralph run is working in this checkout: process ${String(pid)}${where}, since ${since} UTC. Wait until it ends, or end it with Ctrl-C.${where === '' ? '' : ' If that machine is gone, delete the files .ralph/state/run.*.json.'}`,
  );
}

function unwritableStateError(why: string): UserError {
  return new UserError('infrastructure', `The state of this checkout cannot be kept in .ralph/state: ${why}.`);
}

/**
 * Makes a folder that is removed when this process ends, except by SIGKILL. `forget` cancels that for a folder that has
 * been removed already.
 */
export function makeTemporaryFolder(prefix: string): { readonly path: string; readonly forget: () => void } {
  const path = mkdtempSync(join(tmpdir(), prefix));
  const remove = (): void => {
    try {
      // Retry, because a program that is just being ended may still write in the folder.
      rmSync(path, { recursive: true, force: true, maxRetries: 5 });
    } catch {
      // Ignore errors, because a folder that cannot be removed must not keep the process from ending.
    }
  };
  const listeners = Object.entries(ENDS).map(([name, code]) => ({
    name,
    end: (): void => {
      process.exit(code);
    },
  }));
  process.on('exit', remove);
  for (const { name, end } of listeners) process.on(name, end);
  return {
    path,
    forget: () => {
      process.off('exit', remove);
      for (const { name, end } of listeners) process.off(name, end);
    },
  };
}
