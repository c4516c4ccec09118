import { execFileSync, spawn } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';

interface Ended {
  readonly code: number | null;
  readonly out: string;
}

/** A `ralph run` of the command line from source, with the scripted agent. */
export interface HomeRun {
  readonly ended: Promise<Ended>;
  /** Sends a signal as a terminal does, to the whole process group. */
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Settles when the output contains this text. */
  readonly says: (text: string) => Promise<void>;
}

/** Creates a person's checkout with two tasks, in a temporary folder. */
export async function personsCheckout(parent = tmpdir()) {
  const folder = await realpath(await mkdtemp(join(parent, 'ralph-home-')));
  const checkout = join(folder, 'shop');
  const git = (...args: readonly string[]): string => {
    const identity = ['-c', 'user.name=ann', '-c', 'user.email=ann@example.com'];
    return execFileSync('git', ['-C', checkout, ...identity, ...args], { encoding: 'utf8' }).trim();
  };
  await mkdir(join(checkout, '.ralph'), { recursive: true });
  await writeFile(join(checkout, '.ralph/fix_plan.md'), '# Plan\n\n- [ ] Add a cart\n- [ ] Add a receipt\n');
  git('init', '--quiet', '--initial-branch=main');
  git('add', '--all');
  git('commit', '--quiet', '--message=First');
  return {
    folder,
    checkout,
    git,
    /** Starts a run; `around` is the command of the machine that it runs on, empty for this one. */
    start: (
      args: readonly string[],
      environment: Readonly<Record<string, string>> = {},
      around: readonly string[] = [],
    ): HomeRun => startRun({ folder, checkout, around }, args, environment),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}

function startRun(
  {
    folder,
    checkout,
    around,
  }: { readonly folder: string; readonly checkout: string; readonly around: readonly string[] },
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): HomeRun {
  const programs = inject('programs');
  const agent = join(programs, 'scripted-agent.mjs');
  const isolation = args.includes('--isolation') ? [] : ['--isolation', 'none'];
  const asked = [join(programs, 'ralph.mjs'), 'run', ...isolation, '--agent-path', agent, ...args];
  const [program, ...before] = [...around, process.execPath];
  const env = {
    ...{ PATH: process.env.PATH ?? '', HOME: join(folder, 'home'), TMPDIR: folder },
    ...{ ANTHROPIC_API_KEY: 'sk-ant-api03-not-a-key', RALPH_PAUSE_MS: '10' },
    ...environment,
  };
  const child = spawn(program, [...before, ...asked], { cwd: checkout, env, detached: true });
  let out = '';
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      for (const listener of listeners) listener();
    });
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => {
      resolve({ code, out });
    });
  });
  return {
    ended,
    kill: (signal) => {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    },
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (out.includes(text)) resolve();
        };
        listeners.add(look);
        look();
        void ended.then(() => {
          reject(new Error(`It ended without ${text}:\n${out}`));
        });
      }),
  };
}
