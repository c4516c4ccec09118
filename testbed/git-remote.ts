import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { GitService } from './git-starter.ts';
import { git, passToService, SAMPLE_ENVIRONMENT } from './git.ts';

/**
 * The remote's rule for pushes: it accepts all, refuses those that change a workflow file (with GitHub's message for
 * GITHUB_TOKEN), or refuses all.
 */
type PushRule = 'open' | 'no-workflow-files' | 'protected-branch' | 'read-only';

interface GitRequest {
  readonly method: string;
  readonly path: string;
  /** The Authorization header as it was sent, or null if none. */
  readonly authorization: string | null;
  readonly status: number;
}

export interface GitRemote {
  /** `http://127.0.0.1:<port>/<owner>/<name>.git` */
  readonly url: string;
  /** The path of the bare repository, for inspection. */
  readonly repositoryFolder: string;
  /** Every request so far. */
  readonly requests: readonly GitRequest[];
  setRule(rule: PushRule): Promise<void>;
  /** Imports all branches of a local repository, without applying the push rule. */
  importFrom(folder: string): Promise<void>;
  /** Commits files to a branch as a person would, without applying the push rule, and returns the commit. */
  commitByHand(branch: string, files: Readonly<Record<string, string>>): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface GitRemoteOptions {
  /**
   * The folder of the repositories, which may already contain some; by default a temporary folder, removed at the end.
   */
  readonly folder?: string;
  /** The repository as `owner/name`. */
  readonly repository?: string;
  /** The token that may read and push. */
  readonly token: string;
  /** The token that may only read. */
  readonly readOnlyToken?: string;
}

/**
 * Starts a git server on loopback: git's own services behind HTTP, with the access rules of a private GitHub
 * repository.
 */
export async function startGitRemote({
  folder,
  repository = 'octo/sample',
  token,
  readOnlyToken,
}: GitRemoteOptions): Promise<GitRemote> {
  const root = folder ?? (await mkdtemp(join(tmpdir(), 'ralph-git-remote-')));
  const repositoryFolder = join(root, `${repository}.git`);
  if (!existsSync(repositoryFolder)) {
    await mkdir(repositoryFolder, { recursive: true });
    await git(repositoryFolder, ['init', '--quiet', '--bare', '--initial-branch=main']);
  }

  const requests: GitRequest[] = [];
  let readOnly = false;
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    const authorization = request.headers.authorization ?? null;
    response.on('finish', () =>
      requests.push({ method: request.method ?? '', path, authorization, status: response.statusCode }),
    );
    const refusal = refuse({
      sent: tokenOf(authorization),
      token,
      readOnlyToken,
      isPush: path.includes('git-receive-pack'),
      repository,
      readOnly,
    });
    if (refusal) {
      request.resume();
      response
        .writeHead(refusal.status, refusal.status === 401 ? { 'WWW-Authenticate': 'Basic realm="GitHub"' } : {})
        .end(refusal.text);
    } else {
      const service = serviceAt(root, request);
      if (service === null) return void response.writeHead(404).end('Not found\n');
      passToService(service, request, response).catch(() => {
        response.writeHead(500).end('git could not be started\n');
      });
    }
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${repository}.git`,
    repositoryFolder,
    requests,
    setRule: async (rule) => {
      readOnly = rule === 'read-only';
      await writeRule(repositoryFolder, rule);
    },
    importFrom: async (from) => {
      await git(from, ['push', '--quiet', repositoryFolder, 'refs/heads/*:refs/heads/*']);
    },
    commitByHand: async (branch, files) => {
      const env = { ...SAMPLE_ENVIRONMENT, GIT_INDEX_FILE: join(repositoryFolder, `index-${randomUUID()}`) };
      const run = (args: readonly string[], input = ''): Promise<string> => git(repositoryFolder, args, { env, input });
      await run(['read-tree', branch]);
      for (const [path, text] of Object.entries(files)) {
        const blob = await run(['hash-object', '-w', '--stdin'], text);
        await run(['update-index', '--add', '--cacheinfo', `100644,${blob},${path}`]);
      }
      const tree = await run(['write-tree']);
      const commit = await run(['commit-tree', tree, '-p', branch, '-m', 'Change by hand']);
      await run(['update-ref', `refs/heads/${branch}`, commit]);
      await rm(env.GIT_INDEX_FILE, { force: true });
      return commit;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      if (folder === undefined) await rm(root, { recursive: true, force: true });
    },
  };
}

/** Returns the token of a Basic or Bearer header, or null if none. */
function tokenOf(authorization: string | null): string | null {
  const [scheme = '', value = ''] = (authorization ?? '').split(' ');
  if (scheme.toLowerCase() === 'basic') return Buffer.from(value, 'base64').toString().split(':').slice(1).join(':');
  return scheme.toLowerCase() === 'bearer' ? value : null;
}

function refuse({
  sent,
  token,
  readOnlyToken,
  isPush,
  repository,
  readOnly,
}: {
  sent: string | null;
  token: string;
  readOnlyToken: string | undefined;
  isPush: boolean;
  repository: string;
  readOnly: boolean;
}): { status: number; text: string } | null {
  if (sent === token && !(isPush && readOnly)) return null;
  if (sent === null || (sent !== token && sent !== readOnlyToken)) return { status: 401, text: 'Bad credentials\n' };
  return isPush ? { status: 403, text: `Permission to ${repository}.git denied to github-actions[bot].\n` } : null;
}

/** Returns the git service that answers a request, or null if the repository or the address in it does not exist. */
function serviceAt(root: string, { url = '/', headers }: IncomingMessage): GitService | null {
  const { pathname, searchParams } = new URL(url, 'http://127.0.0.1');
  const [, path = '', end = ''] =
    /^\/(.+?)(?:\.git)?\/(info\/refs|git-(?:upload|receive)-pack)$/.exec(decodeURIComponent(pathname)) ?? [];
  const isList = end === 'info/refs';
  const service = isList ? searchParams.get('service') : end;
  const folder = join(root, `${path}.git`);
  if ((service !== 'git-upload-pack' && service !== 'git-receive-pack') || !existsSync(folder)) return null;
  const env = { ...SAMPLE_ENVIRONMENT, GIT_PROTOCOL: String(headers['git-protocol'] ?? '') };
  return { folder, service, isList, env };
}

async function writeRule(repositoryFolder: string, rule: PushRule): Promise<void> {
  const hook = join(repositoryFolder, 'hooks', 'pre-receive');
  await mkdir(dirname(hook), { recursive: true });
  await writeFile(hook, `#!/bin/sh\n${rules[rule]}\n`, { mode: 0o755 });
}

const rules: Record<PushRule, string> = {
  open: 'exit 0',
  'read-only': 'exit 1',
  'protected-branch':
    'echo "error: GH006: Protected branch update failed for the branch. Changes must be made through a pull request." >&2; exit 1',
  'no-workflow-files': `while read -r old new ref; do
  case $new in *[!0]*) ;; *) continue ;; esac
  file=$(git log --format= --name-only -m "$new" --not --all | grep '^[.]github/workflows/' | head -n 1)
  if [ -n "$file" ]; then
    echo "refusing to allow a GitHub App to create or update workflow \\\`$file\\\` without \\\`workflows\\\` permission" >&2
    exit 1
  fi
done`,
};

/** Makes a small JavaScript project with a test in `folder`, as the first commit on `main`; returns the commit. */
export async function createSampleProject(folder: string): Promise<string> {
  for (const [path, text] of Object.entries(sampleFiles)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  await git(folder, ['init', '--quiet', '--initial-branch=main']);
  await git(folder, ['add', '--all']);
  await git(folder, ['commit', '--quiet', '--message', 'Sample project']);
  return await git(folder, ['rev-parse', 'HEAD']);
}

const sampleFiles: Record<string, string> = {
  'package.json': `${JSON.stringify({ name: 'sample', version: '1.0.0', private: true, type: 'module', scripts: { test: 'node --test' } }, null, 2)}\n`,
  '.gitignore': 'node_modules/\n*.log\n',
  'README.md': '# Sample\n\nA few functions on numbers and texts. `npm test` runs the tests.\n',
  'src/sum.js':
    '/** Adds numbers. */\nexport function sum(...numbers) {\n  return numbers.reduce((total, number) => total + number, 0);\n}\n',
  'src/greet.js': '/** A greeting for a name. */\nexport function greet(name) {\n  return `Hello, ${name}!`;\n}\n',
  'test/sum.test.js':
    "import assert from 'node:assert/strict';\nimport { test } from 'node:test';\nimport { sum } from '../src/sum.js';\n\ntest('adds numbers', () => {\n  assert.equal(sum(1, 2, 3), 6);\n});\n",
};
