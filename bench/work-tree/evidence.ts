import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createRepository } from '../../src/git/checkout/checkout.ts';
import { locateTreeFolder } from '../../src/git/checkout/tree/tree-folder.ts';
import { alternate, costOf, ratioRow, type Row } from '../measure.ts';

const GOAL = 2;
const FILES = 100_000;
const FILES_PER_FOLDER = 100;
const ROUNDS = 5;

/** Measures a snapshot of a large work tree against `git status`. */
export async function measureEvidence(folder: string): Promise<readonly Row[]> {
  const workspace = join(folder, 'workspace');
  await createLargeCheckout(workspace, FILES);
  const workFolder = join(folder, 'own');
  const repository = createRepository({
    agentSandbox: () => Promise.resolve(null),
    folder: workspace,
    remote: { url: workspace, token: '' },
    workingDirectory: '',
    workFolder,
    learnSecrets: () => undefined,
    rules: {
      allowProtectedPaths: [],
      maxPatchFiles: 300,
      maxPatchKib: 2048,
      secretValues: () => [],
      scanner: { scan: () => Promise.resolve([]) },
    },
    identity: { name: 'bench', email: 'bench@example.com' },
    signOff: false,
    env: { PATH: process.env.PATH, HOME: folder },
    log: { warning: () => undefined },
  });
  await repository.openLane({ branch: 'ralph/queue', baseBranch: 'main', start: { kind: 'fresh' } });
  await repository.checkOutTree(new AbortController().signal);
  const tree = locateTreeFolder('work', { top: workspace, workFolder, agentSandbox: null });
  const snapshot = () =>
    costOf(async () => {
      await repository.snapshot();
    });
  const status = () => costOf(() => git(tree, ['status', '--porcelain']));
  const pairs = await alternate(ROUNDS, snapshot, status);
  return [
    ratioRow(
      `evidence: ${FILES.toLocaleString('en')} files, against git status`,
      pairs.map(([ours, theirs]) => [ours.wallMs, theirs.wallMs]),
      GOAL,
    ),
  ];
}

/** Creates a checkout with one commit of `files` small files. */
export async function createLargeCheckout(workspace: string, files: number): Promise<void> {
  await mkdir(workspace, { recursive: true });
  await git(workspace, ['init', '--quiet', '--initial-branch=main']);
  const importer = spawn('git', ['fast-import', '--quiet'], {
    cwd: workspace,
    env: environment,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const ended = once(importer, 'exit');
  await pipeline(Readable.from(commit(files)), importer.stdin);
  await ended;
  await git(workspace, ['reset', '--quiet', '--hard']);
}

function* commit(files: number): Generator<string> {
  yield 'commit refs/heads/main\ncommitter Bench <bench@example.com> 1700000000 +0000\ndata 5\nfiles\n';
  for (let at = 0; at < files; at += 1) {
    const text = `export const number${String(at)} = ${String(at)};\n`;
    const folder = Math.floor(at / FILES_PER_FOLDER);
    yield `M 100644 inline src/${String(folder % 40)}/${String(folder)}/file-${String(at)}.js\ndata ${String(text.length)}\n${text}\n`;
  }
}

const environment = { PATH: process.env.PATH ?? '', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };

async function git(folder: string, args: readonly string[]): Promise<void> {
  await promisify(execFile)('git', args, { cwd: folder, env: environment, maxBuffer: 2 ** 26 });
}
