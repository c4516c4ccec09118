import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PlaySandbox } from '../cli/sandbox/sandbox.ts';
import { UserError } from '../errors.ts';
import { createGit } from '../git/git.ts';
import { withNamedWait } from '../ports/waits.ts';
import { describeEnd, type ProgramCall, runProgram } from '../processes/run-program.ts';
import { findInstallSource } from './setup.ts';

/** The longest possible timer in ms, so in effect no limit. */
const NO_LIMIT_MS = 2 ** 31 - 1;
const STOP_GRACE_MS = 5_000;
const FETCH_MS = 10 * 60_000;

/** Opens the sandbox of the package at `packageRoot`, in a separate process. */
export function openSandbox(packageRoot: URL): PlaySandbox {
  return async (args, terminal) => {
    const root = await cloneWith(packageRoot, terminal.error).catch((error: unknown) => {
      if (error instanceof UserError) return error;
      throw error;
    });
    if (root instanceof UserError) return { kind: 'missing', why: root.message };
    const stopped = new AbortController();
    const stop = (): void => {
      stopped.abort();
    };
    process.once('SIGINT', stop).once('SIGTERM', stop);
    const program: ProgramCall = {
      file: process.execPath,
      args: [join(root, 'scripts', 'dev.mjs'), 'sandbox', ...args],
      cwd: root,
      environment: Object.fromEntries(
        Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
      ),
      input: null,
      timeoutMs: NO_LIMIT_MS,
      signal: stopped.signal,
      family: { kind: 'group', graceMs: STOP_GRACE_MS, leftover: 'end' },
      outputs: [(chunk) => terminal.out(chunk.toString()), (chunk) => terminal.error(chunk.toString())],
    };
    const end = await withNamedWait('the sandbox', () => runProgram(program));
    process.off('SIGINT', stop).off('SIGTERM', stop);
    if (end.kind === 'exited') return { kind: 'ended', code: end.code };
    terminal.error(`ralph sandbox: it ${describeEnd(end)}.\n`);
    return { kind: 'ended', code: 1 };
  };
}

/**
 * Returns a folder with everything that the sandbox needs: the package itself, or a clone of its git source; throws
 * UserError if there is neither.
 */
async function cloneWith(packageRoot: URL, say: (text: string) => void): Promise<string> {
  const own = fileURLToPath(packageRoot);
  // npm never packs this file, so its presence means a clone.
  if (existsSync(join(own, 'package-lock.json'))) return own;
  const origin = await findInstallSource(packageRoot);
  if (origin === null)
    throw new UserError(
      'configuration',
      'the sandbox is not part of this installation. Clone the repository of ralph-action, and run npm start -- --repo DIR there.',
    );
  const caches = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const folder = join(caches, 'ralph-action', origin.commit);
  if (existsSync(folder)) return folder;
  say(
    `The sandbox needs a clone of ${origin.url} and puts it into ${folder}. Delete that folder when you no longer need it.\n`,
  );
  const begun = `${folder}.new`;
  await rm(begun, { recursive: true, force: true });
  await mkdir(begun, { recursive: true });
  const git = createGit({ folder: begun, env: process.env, configuration: 'own' });
  await git.text(['init', '--quiet']);
  await git.text(['fetch', '--quiet', '--depth=1', origin.url, origin.commit], { timeoutMs: FETCH_MS });
  await git.text(['checkout', '--quiet', '--detach', 'FETCH_HEAD']);
  await rename(begun, folder);
  return folder;
}
