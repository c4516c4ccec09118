import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
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
import { tryJson } from '../core/text/try-json.ts';
import { messageOf, UserError } from '../errors.ts';
import type { NamedTexts } from '../ports/state.ts';

/** What ends a process, with its exit code then: a terminal that is gone, or a reader that has seen enough, is no failure. */
const ENDS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 0 } as const;

/** What stands where a file of ours belongs. */
type Place = 'free' | 'file' | 'other';

/** The folder of a person's checkout that a run works for; `top` is the checkout's own. */
export interface WorkedFolder {
  readonly top: string;
  readonly folder: Folder;
}

/** A folder of the checkout that holds files of ours, in which nothing is ever written through a link. */
export interface OwnFolder {
  /** Replaces a file, whole or not at all; throws where something else than a file is in its place. */
  readonly replace: (name: string, text: string) => void;
  /** Makes an empty file that its owner alone may read, in place of the one before; throws likewise. */
  readonly begin: (name: string) => void;
  /** Adds to a file; throws likewise. Returns its new size in bytes. */
  readonly append: (name: string, text: string) => number;
  /** Gives a file another name, in place of the one that has it; throws likewise. */
  readonly rename: (name: string, to: string) => void;
  readonly path: string;
}

/** Makes a folder of ours, such as `.ralph` and `logs`, where there is none; the folder that it is in must be there. Throws where a part of the path below `top` is a link or no folder. `hides`: a `.gitignore` in it keeps all of it out of git. */
export function openOwnFolder(
  { top, folder }: WorkedFolder,
  own: readonly string[],
  { hides }: { readonly hides: boolean },
): OwnFolder {
  let path = realpathSync(top);
  const theirs = folder.split('/').filter((part) => part !== '');
  for (const [index, part] of [...theirs, ...own].entries()) {
    path = join(path, part);
    if (placeOf(path) === 'free') {
      if (index < theirs.length) throw new Error(`${path} does not exist`);
      mkdirSync(path);
    }
    refuseOthers(path);
  }
  if (hides && placeOf(join(path, '.gitignore')) === 'free')
    writeFileSync(join(path, '.gitignore'), '*\n', { flag: 'wx' });
  /** Its path; throws where something else than a file is in its place. */
  const fileOf = (name: string): string => {
    const file = join(path, name);
    if (placeOf(file) === 'other') throw new Error(`${file} is a link, a folder or a pipe, so it is not written`);
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
    append: (name, text) => {
      const file = fileOf(name);
      const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
      // A link or a pipe that has come into its place since is refused as well, and not waited for.
      const handle = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o644);
      try {
        if (!fstatSync(handle).isFile()) throw new Error(`${file} is not a file, so it is not written`);
        writeFileSync(handle, text);
        return fstatSync(handle).size;
      } finally {
        closeSync(handle);
      }
    },
    rename: (name, to) => {
      renameSync(fileOf(name), fileOf(to));
    },
  };
}

/** Throws where a part of a path below `top` is there and is a link or not a folder; what is missing is not made. */
export function checkOwnFolder(top: string, parts: readonly string[]): void {
  let path = realpathSync(top);
  for (const part of parts) {
    path = join(path, part);
    if (placeOf(path) !== 'free') refuseOthers(path);
  }
}

function refuseOthers(path: string): void {
  const found = lstatSync(path);
  if (found.isSymbolicLink()) throw new Error(`${path} is a link; put a folder in its place`);
  if (!found.isDirectory()) throw new Error(`${path} is not a folder; put a folder in its place`);
}

function placeOf(path: string): Place {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 'free';
  return found.isFile() ? 'file' : 'other';
}

/** The folder of the run's journal, with an empty one in place of that of the run before; `instead` where `.ralph/logs` cannot hold it, which is warned of. */
export function openJournalFolder(
  worked: WorkedFolder,
  { instead, warn }: { readonly instead: string; readonly warn: (text: string) => void },
): string {
  try {
    const folder = openOwnFolder(worked, ['.ralph', 'logs'], { hides: true });
    folder.begin('journal.jsonl');
    return folder.path;
  } catch (error) {
    warn(`The journal is not kept in .ralph/logs, and is gone when this run ends: ${messageOf(error)}.`);
    return instead;
  }
}

const claimSchema = z.object({
  version: z.literal(1),
  /** Counts the runs of this checkout. */
  number: z.number().int().min(1),
  pid: z.number().int().positive(),
  /** When its process was started, in the kernel's own words; null: not known, or it has ended. */
  birth: z.string().max(100).nullable(),
  host: z.string().max(300),
  runTag: z.string().max(100),
  runFolder: z.string().max(4096),
  /** The folder of the repository that it works for, where it leaves its status and its logs. */
  folder: z.string().max(4096).default(''),
  startedAt: z.number().int().min(0),
  isOver: z.boolean(),
});

/** Which run has this checkout. */
export type RunClaim = z.infer<typeof claimSchema>;

/** The folder of a checkout that holds its state. */
export const STATE: readonly string[] = ['.ralph', 'state'];

/** Under which the claim is kept. */
const NAME = 'run';

const MAX_TRIES = 5;

/** What a claim found: a run before it that was killed, whose leftovers are to be removed; null: none. */
interface Claimed {
  readonly claim: RunClaim;
  readonly killed: RunClaim | null;
}

/** Throws a UserError where a part of the way to the state is a link or not a folder. */
export function checkState(top: string): void {
  try {
    checkOwnFolder(top, STATE);
  } catch (error) {
    throw unwritable(messageOf(error));
  }
}

/** Makes this process the one that runs in the checkout; throws a UserError where another one lives. */
export async function claimRun(
  texts: NamedTexts,
  of: Pick<RunClaim, 'runTag' | 'folder' | 'startedAt'> & { readonly runFolderOf: (number: number) => string },
): Promise<Claimed> {
  for (let tried = 0; tried < MAX_TRIES; tried += 1) {
    const { head, last } = await look(texts);
    if (last !== null && isAlive(last)) throw atWork(last);
    const number = (last?.number ?? 0) + 1;
    const claim: RunClaim = {
      ...{ version: 1, number, pid: process.pid, birth: birthOf(process.pid), host: hostname(), isOver: false },
      ...{ runTag: of.runTag, runFolder: of.runFolderOf(number), folder: of.folder, startedAt: of.startedAt },
    };
    const written = await texts.write(NAME, head, `${JSON.stringify(claim)}\n`);
    if (written.kind === 'written') return { claim, killed: last === null || last.isOver ? null : last };
    if (written.kind !== 'conflict') throw unwritable(written.why);
  }
  throw new UserError('infrastructure', 'Several runs were started in this checkout at once. Start one of them again.');
}

/** Gives the checkout back. */
export async function releaseRun(texts: NamedTexts, claim: RunClaim): Promise<void> {
  const { head, last } = await look(texts);
  if (last?.runTag !== claim.runTag) return;
  await texts.write(NAME, head, `${JSON.stringify({ ...claim, isOver: true })}\n`);
}

/** The last run of this checkout, over or not; null: there was none, or nobody can read of it. */
export async function lastRun(texts: Pick<NamedTexts, 'read'>): Promise<RunClaim | null> {
  return (await look(texts).catch(() => null))?.last ?? null;
}

/** The number that the next run would have, for a look that claims nothing: a run that lives keeps what it has. */
export async function nextNumber(texts: Pick<NamedTexts, 'read'>): Promise<number> {
  const last = await lastRun(texts);
  return last === null || isAlive(last) ? 1 : last.number + 1;
}

/** Whether the last run of this checkout has ended or was killed, so that what it holds is nobody's. */
export async function isLastRunOver(texts: Pick<NamedTexts, 'read'>): Promise<boolean> {
  const last = await lastRun(texts);
  return last !== null && !isAlive(last);
}

async function look(
  texts: Pick<NamedTexts, 'read'>,
): Promise<{ readonly head: string | null; readonly last: RunClaim | null }> {
  const found = await texts.read(NAME);
  if (found.kind === 'unavailable') throw unwritable(found.why);
  if (found.kind === 'absent') return { head: null, last: null };
  const parsed = claimSchema.safeParse(tryJson(found.text));
  return { head: found.head, last: parsed.success ? parsed.data : null };
}

/** On another machine nobody can tell, so it counts as alive. */
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

/** The boot and the tick in which a process was started: no other process has both, and its id; null: this system does not tell, or there is no such process. */
function birthOf(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // Nobody has waited for it yet, but it is dead.
    return state === 'Z' ? null : `${boot} ${fields[18] ?? ''}`;
  } catch {
    return null;
  }
}

function atWork({ pid, host, startedAt }: RunClaim): UserError {
  const since = new Date(startedAt).toISOString().slice(0, 16).replace('T', ' ');
  const where = host === hostname() ? '' : ` on ${host}`;
  return new UserError(
    'configuration',
    `Another ralph run works in this checkout: process ${String(pid)}${where}, since ${since} UTC. Wait until it ends, or end it with Ctrl-C.${where === '' ? '' : ' If that machine is gone, delete the files .ralph/state/run.*.json.'}`,
  );
}

function unwritable(why: string): UserError {
  return new UserError('infrastructure', `The state of this checkout cannot be kept in .ralph/state: ${why}.`);
}

/** Makes a folder that does not outlive this process, however it ends, short of SIGKILL. `forget`: it has been removed. */
export function makeTemporaryFolder(prefix: string): { readonly path: string; readonly forget: () => void } {
  const path = mkdtempSync(join(tmpdir(), prefix));
  const remove = (): void => {
    try {
      // A program that is still being ended may write in it.
      rmSync(path, { recursive: true, force: true, maxRetries: 5 });
    } catch {
      // What cannot be removed now keeps no process from ending.
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
