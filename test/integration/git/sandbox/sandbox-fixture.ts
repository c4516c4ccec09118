import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, lchown, lstat, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll } from 'vitest';
import type { RepositorySandbox } from '../../../../src/git/checkout/tree/agent-tree.ts';
import type { TreeWorkerCommand } from '../../../../src/git/checkout/tree/worker-process.ts';
import type { AgentSandbox } from '../../../../src/ports/agent-sandbox.ts';
import { endTree, RUN_TAG_NAME } from '../../../../src/processes/process-tree.ts';

/** A user id without an account. */
export const AGENT_UID = 60_700;

const WORKER = `
import { serveWorkTree } from './src/git/checkout/tree/worker.ts';
import { createWorkFiles } from './src/runner/workspace-files.ts';
await serveWorkTree({ input: process.stdin, output: process.stdout, env: process.env, filesOf: createWorkFiles });
process.exit(0);
`;

/** The worker is bundled once per test file, because it starts much faster than its sources. */
let built: Promise<string> | null = null;
afterAll(async () => {
  if (built !== null) await rm(join(await built, '..'), { recursive: true, force: true });
});

async function buildWorker(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ralph-tree-worker-'));
  await makePassable(folder);
  const outfile = join(folder, 'tree-worker.mjs');
  await build({
    stdin: { contents: WORKER, resolveDir: fileURLToPath(new URL('../../../..', import.meta.url)) },
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    mainFields: ['module', 'main'],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  return outfile;
}

/** Returns the command of the real worker. */
export async function workerIn({ folders }: Pick<AgentSandbox, 'folders'>): Promise<TreeWorkerCommand> {
  const program = await (built ??= buildWorker());
  return {
    file: process.execPath,
    args: [program],
    environment: { HOME: folders.home, PATH: process.env['PATH'] ?? '' },
  };
}

/** Lets other users pass through a folder without listing it. */
async function makePassable(folder: string): Promise<void> {
  await chmod(folder, 0o711);
  if (folder.startsWith(tmpdir())) await chmod(tmpdir(), (await lstat(tmpdir())).mode | 0o011);
}

/** Opens a sandbox that isolates nothing: its user is the current one. It finds its processes by a run tag. */
export async function openSameUserSandbox(root: string): Promise<RepositorySandbox> {
  const agentSandbox = await layAgentSandbox(root, []);
  return { agentSandbox, worker: await workerIn(agentSandbox) };
}

/** Opens a sandbox with its own user, which requires root. */
export async function openOtherUserSandbox(root: string): Promise<RepositorySandbox> {
  await makePassable(root);
  const id = String(AGENT_UID);
  const agentSandbox = await layAgentSandbox(root, [
    'setpriv',
    `--reuid=${id}`,
    `--regid=${id}`,
    '--clear-groups',
    '--',
  ]);
  const given = async (path: string, [from, to]: readonly [number, number]): Promise<void> => {
    const found = await lstat(path).catch(() => null);
    if (found === null) return;
    if (found.uid === from) await lchown(path, to, to);
    if (found.isDirectory()) for (const name of await readdir(path)) await given(join(path, name), [from, to]);
  };
  const own = process.getuid?.() ?? 0;
  const other: AgentSandbox = {
    ...agentSandbox,
    give: (path) => given(path, [own, AGENT_UID]),
    takeBack: async (path) => {
      await given(path, [AGENT_UID, own]);
      return true;
    },
  };
  await given(other.folders.home, [own, AGENT_UID]);
  return { agentSandbox: other, worker: await workerIn(other) };
}

async function layAgentSandbox(root: string, way: readonly string[]): Promise<AgentSandbox> {
  const tag = randomUUID();
  const [home, trees, inbox, session] = ['home', 'trees', 'inbox', 'session'].map((name) =>
    join(root, 'agentSandbox', name),
  ) as [string, string, string, string];
  const folders = { home, trees, inbox, session };
  await mkdir(join(root, 'agentSandbox'));
  for (const folder of Object.values(folders)) await mkdir(folder);
  return {
    folders,
    enter: ({ file, args, cwd, environment }) => {
      const [first = file, ...rest] = [...way, file, ...args];
      return Promise.resolve({ file: first, args: rest, cwd, environment: { ...environment, [RUN_TAG_NAME]: tag } });
    },
    seenAt: (tree) => tree,
    end: async (graceMs) => {
      await endTree({ runTag: tag, group: null }, graceMs);
      return [];
    },
    refresh: () => Promise.resolve(folders.home),
    give: () => Promise.resolve(),
    takeBack: () => Promise.resolve(false),
  };
}

/** Runs a shell script in a folder as the sandbox's user. */
export function asAgent(folder: string, script: string): Promise<string> {
  const id = String(AGENT_UID);
  const way = [`--reuid=${id}`, `--regid=${id}`, '--clear-groups', 'sh', '-euc', script];
  const env = {
    PATH: process.env['PATH'],
    HOME: '/nonexistent',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'agent',
    GIT_AUTHOR_EMAIL: 'agent@example.com',
    GIT_COMMITTER_NAME: 'agent',
    GIT_COMMITTER_EMAIL: 'agent@example.com',
  };
  return new Promise((resolve, reject) => {
    execFile('setpriv', way, { cwd: folder, env }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.trim());
      else reject(new Error(`${script}: ${stderr}`, { cause: error }));
    });
  });
}
