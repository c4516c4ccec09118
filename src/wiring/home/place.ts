import { createHash, randomBytes } from 'node:crypto';
import { lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';

/** Where a run works: outside of the person's checkout, in their own cache, so that no tool of theirs looks into it. */
export interface Place {
  /** Of this checkout alone. */
  readonly base: string;
  /** The copy that the agent works in. */
  readonly clone: string;
  /** What stands for a job's temporary folder. */
  readonly temp: string;
  /** Agent and sandbox runtime, where they have to be installed; of all checkouts. */
  readonly tools: string;
}

export function placeOfHome(top: string, environment: NodeJS.ProcessEnv): Place {
  const caches = join(environment.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'ralph-action');
  const name = basename(top).replaceAll(/[^\w.-]/g, '_') || 'checkout';
  const base = join(caches, 'home', `${name}-${createHash('sha256').update(top).digest('hex').slice(0, 12)}`);
  return { base, clone: join(base, 'work', name), temp: join(base, 'temp'), tools: join(caches, 'tools') };
}

/** The key that closes this person's transcripts, in a file that only they can read. */
export function sealingKey({ base }: Place): string {
  const file = join(base, 'key');
  mkdirSync(base, { recursive: true, mode: 0o700 });
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined)
    writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx' });
  return readFileSync(file, 'utf8').trim();
}
