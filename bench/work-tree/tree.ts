import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findCredentials } from '../../src/git/checkout/credentials/credentials.ts';
import { createPrivateRepository } from '../../src/git/checkout/private-repository.ts';
import { checkOutTree } from '../../src/git/checkout/tree/check-out-tree.ts';
import { findWorkspace, readHead } from '../../src/git/checkout/workspace.ts';
import { createLargeCheckout } from './evidence.ts';
import { alternate, costOf, ratioRow, spread, type Row } from '../measure.ts';

const GOAL = 2;
const FILES = 20_000;
/** Number and size of the ignored files; about as in a project's installed packages. */
const IGNORED = { files: 10_000, bytes: 50_000 } as const;
const ROUNDS = 5;

/** Measures the creation of the agent's tree against `git worktree add` plus `cp -a` of the files that git ignores. */
export async function measureTree(folder: string): Promise<readonly Row[]> {
  const checkout = join(folder, 'checkout');
  await createLargeCheckout(checkout, FILES);
  await writeFile(join(checkout, '.git', 'info', 'exclude'), 'packages/\n');
  for (let at = 0; at < IGNORED.files; at += 1) {
    const within = join(checkout, 'packages', String(at % 500));
    if (at < 500) await mkdir(within, { recursive: true });
    await writeFile(join(within, `${String(at)}.js`), Buffer.alloc(IGNORED.bytes, String(at)));
  }
  const env = { PATH: process.env.PATH, HOME: folder };
  const options = { env, log: { warning: (text: string) => console.error(text) } };
  const workspace = await findWorkspace(checkout, options);
  if ('why' in workspace) throw new Error(workspace.why);
  const commit = (await readHead(workspace)) ?? '';
  const workFolder = join(folder, 'own');
  const repository = await createPrivateRepository(workspace, { workFolder, env, hide: [] });
  const credentials = await findCredentials(workspace, options);
  const ours = async () => {
    await rm(join(workFolder, 'trees'), { recursive: true, force: true });
    return await costOf(async () => {
      await checkOutTree(
        {
          ...{ ...options, workspace, repository, credentials, workFolder, agentSandbox: null },
          signal: new AbortController().signal,
        },
        {
          ...{ kind: 'work', commit, branch: 'ralph/queue', base: { branch: 'main', commit }, hasIgnored: true },
          ...{ objects: [join(workspace.commonFolder, 'objects')], sparseSince: commit },
        },
      );
    });
  };
  const other = join(folder, 'other');
  const theirs = async () => {
    await rm(other, { recursive: true, force: true });
    await run('git', ['worktree', 'prune'], checkout);
    return await costOf(async () => {
      await run('git', ['worktree', 'add', '--quiet', '--detach', other], checkout);
      await run('cp', ['-a', 'packages', other], checkout);
    });
  };
  const pairs = await alternate(ROUNDS, ours, theirs);
  const seconds = spread(pairs.map(([{ wallMs }]) => wallMs / 1000));
  return [
    ratioRow(
      `tree: ${FILES.toLocaleString('en')} files and ${String((IGNORED.files * IGNORED.bytes) / 1e6)} MB ignored, against git worktree add and cp -a`,
      pairs.map(([one, another]) => [one.wallMs, another.wallMs]),
      GOAL,
    ),
    {
      measure: 'tree: laid in',
      value: `${seconds.median.toFixed(2)} s (${seconds.min.toFixed(2)}–${seconds.max.toFixed(2)})`,
      goal: '',
      isMet: null,
    },
  ];
}

async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  await promisify(execFile)(program, args, { cwd });
}
