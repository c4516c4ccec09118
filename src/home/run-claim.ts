import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { z } from 'zod';
import { tryJson } from '../core/text/try-json.ts';
import { messageOf, UserError } from '../errors.ts';
import type { NamedTexts } from '../ports/state.ts';
import { checkOwnFolder } from './own-folder.ts';

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
export interface Claimed {
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
