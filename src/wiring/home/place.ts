import { createHash, randomBytes } from 'node:crypto';
import { lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import type { LaneId } from '../../core/tasks/ids.ts';

/** The folders of a run, in the person's cache and outside of their checkout, so that their tools do not read them. */
export interface RunFolders {
  /** The folder of this checkout. */
  readonly base: string;
  /** The folder around the copy, which is removed at the end of the run. */
  readonly work: string;
  /** The copy in which the agent works. */
  readonly clone: string;
  /** The equivalent of a job's temporary folder. */
  readonly temp: string;
  /** The folder in which the agent and the sandbox runtime are installed if needed, shared by all checkouts. */
  readonly tools: string;
}

/** Returns the folders for runs in the checkout at `top`; the same checkout always has the same ones. */
export function placeOfHome(top: string, environment: NodeJS.ProcessEnv): RunFolders {
  const caches = join(environment.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'ralph-action');
  const name = basename(top).replaceAll(/[^\w.-]/g, '_') || 'checkout';
  const base = join(caches, 'home', `${name}-${createHash('sha256').update(top).digest('hex').slice(0, 12)}`);
  return { base, ...foldersIn(base, name), tools: join(caches, 'tools') };
}

function foldersIn(folder: string, name: string): Pick<RunFolders, 'work' | 'clone' | 'temp'> {
  const work = join(folder, 'work');
  return { work, clone: join(work, name), temp: join(folder, 'temp') };
}

/** Returns the folder that contains the folders of lanes on which other processes of a run work. */
export function folderOfLanes({ base }: Pick<RunFolders, 'base'>): string {
  return join(base, 'lanes');
}

/** Returns the folders of a process that works on a lane, next to those of the process that started it. */
export function locateLaneFolders(place: RunFolders, lane: LaneId): RunFolders {
  return { ...place, ...foldersIn(join(folderOfLanes(place), lane), basename(place.clone)) };
}

/** Returns the private folder of the run with this number. */
export function buildRunFolderPath({ temp }: Pick<RunFolders, 'temp'>, number: number): string {
  return join(temp, `run-${String(number)}`);
}

/** Returns the key that encrypts this person's transcripts, from a file that only they can read. */
export function loadSealingKey({ base }: RunFolders): string {
  const file = join(base, 'key');
  mkdirSync(base, { recursive: true, mode: 0o700 });
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined)
    writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx' });
  return readFileSync(file, 'utf8').trim();
}
