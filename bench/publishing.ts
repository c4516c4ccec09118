import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createRepository } from '../src/git/checkout/checkout.ts';
import { locateQuarantine } from '../src/git/checkout/quarantine.ts';
import { startGitRemote } from '../testbed/git-remote.ts';
import { inspectOutgoing, withPushRepository } from '../src/git/remote/outgoing.ts';
import { createSecretScanner } from '../src/secrets/scanner.ts';
import { costOf, ratioRow, spread, type Row } from './measure.ts';

const FILES = 300;
const TOTAL_BYTES = 2 * 1024 * 1024;
const ROUNDS = 5;
const GOAL_MS = 1_000;

const GOAL_RATIO = 2;

/**
 * Measures copying, hashing, inspecting and committing an agent's commit of 300 files, 2 MB in all, until it can be
 * pushed; compared with git's part alone: fetch the agent's commit and print its diff.
 */
export async function measurePublishing(folder: string): Promise<readonly Row[]> {
  await mkdir(folder, { recursive: true });
  await using origin = await startGitRemote({ folder: join(folder, 'origin'), token: 'bench' });
  await seed(join(folder, 'seed'), origin.repositoryFolder);
  const pairs: [number, number][] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const at = join(folder, String(round));
    await mkdir(at, { recursive: true });
    // Each side gets its own checkout: the first side would leave the objects packed for the other.
    const theirs = join(at, 'theirs');
    await run(at, ['clone', '--quiet', origin.repositoryFolder, theirs]);
    const { ours, since } = await ready(at, { url: origin.url, clone: origin.repositoryFolder });
    await work(theirs);
    const store = join(at, 'store');
    await run(at, ['init', '--quiet', '--bare', store]);
    const cost = await costOf(ours);
    pairs.push([cost.wallMs, (await costOf(() => plainly(store, theirs, since))).wallMs]);
  }
  const measured = pairs.slice(1);
  const ms = spread(measured.map(([own]) => own)).median;
  const what = `publishing: ${String(FILES)} files of 2 MB in all`;
  return [
    {
      measure: `${what}, until they can be sent`,
      value: `${ms.toFixed(0)} ms`,
      goal: `≤ ${String(GOAL_MS)} ms`,
      isMet: ms <= GOAL_MS,
    },
    ratioRow(`${what}, against git fetch and git diff`, measured, GOAL_RATIO),
  ];
}

/** Prepares a checkout in which an agent has just committed, and the action's next steps. */
async function ready(
  at: string,
  origin: { readonly url: string; readonly clone: string },
): Promise<{ readonly ours: () => Promise<void>; readonly since: string }> {
  const workspace = join(at, 'workspace');
  await run(at, ['clone', '--quiet', origin.clone, workspace]);
  const workFolder = join(at, 'own');
  const rules = {
    allowProtectedPaths: [],
    maxPatchFiles: FILES,
    maxPatchKib: 4096,
    secretValues: () => ['sk-ant-a-value-of-a-secret-of-this-job'],
    scanner: createSecretScanner(),
  };
  const env = { PATH: process.env.PATH, HOME: at };
  const repository = createRepository({
    agentSandbox: () => Promise.resolve(null),
    folder: workspace,
    remote: { url: origin.url, token: 'bench' },
    workingDirectory: '',
    workFolder,
    rules,
    identity: { name: 'bench', email: 'bench@example.com' },
    signOff: false,
    learnSecrets: () => undefined,
    env,
    log: { warning: () => undefined },
  });
  const opened = await repository.openLane({ branch: 'ralph/queue', baseBranch: 'main', start: { kind: 'fresh' } });
  const before = await repository.snapshot();
  // The scanner's library is loaded once per run, outside the measurement.
  await rules.scanner.scan('');
  await work(workspace);
  const source = { quarantineFolder: locateQuarantine(workFolder), workFolder, env, hide: [] };
  // Never called: a commit without a merge needs no request to the server.
  const server = { baseBranch: null, url: '', ask: () => Promise.reject(new Error('nobody is asked')) };
  return {
    since: opened.head,
    ours: async () => {
      const after = await repository.snapshot();
      const { head } = await repository.commit({ before, after, message: 'Work', trailers: {} });
      const objection = await withPushRepository(source, (git) =>
        inspectOutgoing(git, { commit: head, since: opened.head }, { ...source, ...server, rules }),
      );
      if (objection !== null) throw new Error(objection);
    },
  };
}

async function seed(folder: string, origin: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await run(folder, ['init', '--quiet', '--initial-branch=main']);
  await writeFile(join(folder, 'README.md'), '# Sample\n');
  await run(folder, ['add', '.']);
  await run(folder, ['commit', '--quiet', '-m', 'first']);
  await run(folder, ['push', '--quiet', origin, 'main']);
}

/**
 * Uses git alone: fetches into a separate store, checks every object, and prints the contents that the inspection
 * reads.
 */
async function plainly(store: string, from: string, since: string): Promise<void> {
  const checked = ['-c', 'fetch.fsckObjects=true', '-c', 'fetch.unpackLimit=1'];
  await run(store, [...checked, 'fetch', '--quiet', '--no-auto-maintenance', from, 'HEAD']);
  await run(store, ['diff-tree', '-r', '--raw', '--numstat', '--patch', since, 'FETCH_HEAD']);
}

/** Changes and commits the files as the agent. */
async function work(workspace: string): Promise<void> {
  await writeFiles(workspace);
  await run(workspace, ['add', '.']);
  await run(workspace, ['commit', '--quiet', '-m', 'work']);
}

async function writeFiles(workspace: string): Promise<void> {
  await mkdir(join(workspace, 'src', 'made'), { recursive: true });
  const line = (file: number, at: number): string =>
    `export const value${String(at)} = compute(${String(file * 31 + at)}, 'item ${String(at)}');\n`;
  await Promise.all(
    Array.from({ length: FILES }, (_, file) => {
      let text = '';
      for (let at = 0; text.length < TOTAL_BYTES / FILES; at += 1) text += line(file, at);
      return writeFile(join(workspace, 'src', 'made', `file-${String(file)}.ts`), text);
    }),
  );
}

async function run(cwd: string, args: readonly string[]): Promise<void> {
  await promisify(execFile)('git', args, {
    cwd,
    maxBuffer: 2 ** 26,
    env: {
      PATH: process.env.PATH,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: 'bench',
      GIT_AUTHOR_EMAIL: 'bench@example.com',
      GIT_COMMITTER_NAME: 'bench',
      GIT_COMMITTER_EMAIL: 'bench@example.com',
    },
  });
}
