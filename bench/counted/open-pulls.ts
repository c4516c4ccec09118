import { execFile } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createRepository } from '../../src/git/checkout/checkout.ts';
import type { OpenPulls } from '../../src/ports/repository.ts';
import { createSecretScanner } from '../../src/secrets/scanner.ts';
import { startGitRemote } from '../../testbed/git-remote.ts';
import { costOf, spread, type Row } from '../measure.ts';

const PULLS = 30;

/** Number of branches that change the same line of one file. */
const RIVALS = 5;
const ROUNDS = 3;
const TIME_MS = 300;

/** Processes that a comparison starts, however many pull requests are open: repository, fetch, list, files, merges. */
const GOAL_PROCESSES = 5;

/**
 * Compares 30 open pull requests, of which every five conflict, in a real repository behind HTTP. The count of git
 * processes must not grow with the number of pull requests; the time depends on the machine and is only shown.
 */
export async function compareManyPulls(folder: string): Promise<readonly Row[]> {
  await mkdir(folder, { recursive: true });
  await using origin = await startGitRemote({ folder: join(folder, 'origin'), token: 'bench' });
  const seed = join(folder, 'seed');
  const { base, pulls } = await openPulls(seed, origin.repositoryFolder);
  const workspace = join(folder, 'workspace');
  await git(folder, ['clone', '--quiet', '--single-branch', origin.repositoryFolder, workspace]);
  const repository = createRepository({
    agentSandbox: () => Promise.resolve(null),
    folder: workspace,
    remote: { url: origin.url, token: 'bench' },
    workingDirectory: '',
    workFolder: join(folder, 'own'),
    rules: {
      allowProtectedPaths: [],
      maxPatchFiles: 1,
      maxPatchKib: 1,
      secretValues: () => [],
      scanner: createSecretScanner(),
    },
    identity: { name: 'bench', email: 'bench@example.com' },
    signOff: false,
    learnSecrets: () => undefined,
    env: { PATH: process.env.PATH, HOME: folder },
    log: { warning: () => undefined },
  });
  const compare = async (some: OpenPulls['pulls']): Promise<void> => {
    const compared = await repository.compareOpen({ base, pulls: some });
    const rivals = compared?.map(({ conflictsWith }) => conflictsWith.length) ?? [];
    if (rivals.length !== some.length || rivals.some((count) => count !== RIVALS - 1))
      throw new Error(`the comparison is wrong: ${JSON.stringify(compared)}`);
  };
  // The first one also learns git's version and the repository's layout.
  await compare(pulls);
  const few = await processesOf(() => compare(pulls.slice(0, RIVALS)));
  const many = await processesOf(() => compare(pulls));
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) times.push((await costOf(() => compare(pulls))).wallMs);
  const { median, min, max } = spread(times);
  const what = `open pull requests: ${String(PULLS)} compared`;
  return [
    {
      measure: `${what}, git processes`,
      value: `${String(many)} (${String(few)} for ${String(RIVALS)})`,
      goal: `≤ ${String(GOAL_PROCESSES)}`,
      isMet: many <= GOAL_PROCESSES && many === few,
    },
    {
      measure: `${what}, with the fetch`,
      value: `${median.toFixed(0)} ms (${min.toFixed(0)}–${max.toFixed(0)})`,
      goal: `≤ ${String(TIME_MS)} ms on an idle machine`,
      isMet: null,
    },
  ];
}

/** Creates the branches: each changes its own file, and groups of RIVALS branches change the same line of one file. */
async function openPulls(seed: string, origin: string): Promise<OpenPulls> {
  const shared = (at: number): string => `shared-${String(Math.floor(at / RIVALS))}.txt`;
  const numbers = Array.from({ length: PULLS }, (_, at) => at);
  await mkdir(seed, { recursive: true });
  await git(seed, ['init', '--quiet', '--initial-branch=main']);
  for (const at of numbers) await writeFile(join(seed, shared(at)), 'first\nsecond\nthird\n');
  await git(seed, ['add', '.']);
  await git(seed, ['commit', '--quiet', '-m', 'first']);
  const pulls: OpenPulls['pulls'][number][] = [];
  for (const at of numbers) {
    const branch = `ralph/issue-${String(at + 1)}`;
    await git(seed, ['checkout', '--quiet', '-b', branch, 'main']);
    await writeFile(join(seed, shared(at)), `first\nof ${branch}\nthird\n`);
    await writeFile(join(seed, `own-${String(at)}.txt`), branch);
    await git(seed, ['add', '.']);
    await git(seed, ['commit', '--quiet', '-m', branch]);
    pulls.push({ number: at + 1, branch, head: await git(seed, ['rev-parse', 'HEAD']) });
  }
  await git(seed, ['checkout', '--quiet', 'main']);
  await writeFile(join(seed, 'later.txt'), 'later\n');
  await git(seed, ['add', '.']);
  await git(seed, ['commit', '--quiet', '-m', 'later']);
  await git(seed, ['push', '--quiet', origin, '--all']);
  return { base: { branch: 'main', tip: await git(seed, ['rev-parse', 'HEAD']) }, pulls };
}

/** Returns the number of git processes that this process starts during the work, without those of the remote. */
async function processesOf(work: () => Promise<void>): Promise<number> {
  let started = 0;
  const note = (message: unknown): void => {
    const { process: child } = message as { readonly process: { readonly spawnargs: readonly string[] } };
    queueMicrotask(() => (started += isOwnGit(child.spawnargs) ? 1 : 0));
  };
  subscribe('child_process', note);
  await work().finally(() => unsubscribe('child_process', note));
  return started;
}

function isOwnGit(args: readonly string[]): boolean {
  return /(?:^|\/)git$/.test(args[0] ?? '') && !args.includes('http-backend');
}

async function git(cwd: string, args: readonly string[]): Promise<string> {
  const identity = ['user.name=bench', 'user.email=bench@example.com', 'commit.gpgsign=false', 'gc.auto=0'];
  const all = [...identity.flatMap((setting) => ['-c', setting]), ...args];
  return (await promisify(execFile)('git', all, { cwd })).stdout.trim();
}
