import { expect } from 'vitest';
import type { TokenIdentity } from '../../../testbed/github/route.ts';
import type { CacheShelf } from '../../../testbed/github/state.ts';
import { type GitHub, startGitHub } from '../../../testbed/github/server.ts';
import type { ForgeAdapter, PullRequest } from '../../../src/ports/forge.ts';
import type { Log } from '../../../src/ports/machine.ts';
import type { TokenSource } from '../../../src/github/errors.ts';
import { createForge } from '../../../src/github/forge.ts';
import { UserError } from '../../../src/errors.ts';

export const now = Date.parse('2026-11-21T12:00:00Z');
export const TOKEN = 'ghs_theTokenOfThisJob';

const githubToken: TokenIdentity = {
  login: 'github-actions[bot]',
  kind: 'app',
  permissions: { metadata: 'read', contents: 'write', issues: 'write', pull_requests: 'write', actions: 'write' },
};

export interface ForgeFixture extends AsyncDisposable {
  readonly github: GitHub;
  readonly forge: ForgeAdapter;
  /** Creates a forge without the memory of the first one. */
  nextRun(): ForgeAdapter;
  /** Tips of the remote's branches; a test may change them. */
  readonly branches: Record<string, string>;
  /** Lines of the job log. */
  readonly logged: string[];
  readonly debugLines: string[];
  /** Returns method and path of every request, without the repository's own path. */
  sent(): readonly string[];
}

/**
 * Opens a forge on a stand-in for octo/demo with the branches main and ralph/queue. Disposing of it fails if either
 * side violated GitHub's description.
 */
export async function openForge(
  options: {
    readonly permissions?: TokenIdentity['permissions'];
    readonly kind?: TokenIdentity['kind'];
    readonly sentToken?: string;
    readonly tokenFrom?: TokenSource;
    readonly requestMs?: number;
    readonly retries?: number;
    readonly secondMs?: number;
    readonly downloadMs?: number;
    readonly now?: () => number;
    readonly caches?: CacheShelf;
    readonly basePath?: '/api/v3';
  } = {},
): Promise<ForgeFixture> {
  const branches: Record<string, string> = { main: 'a'.repeat(40), 'ralph/queue': 'b'.repeat(40) };
  const identity: TokenIdentity =
    options.kind === 'user' ? { ...githubToken, login: 'octo', kind: 'user' } : githubToken;
  const github = await startGitHub({
    repository: { owner: 'octo', name: 'demo', defaultBranch: 'main' },
    branches: () => branches,
    tokens: { [TOKEN]: { ...identity, permissions: options.permissions ?? identity.permissions } },
    now: () => now,
    ...(options.caches === undefined ? {} : { caches: options.caches }),
    ...(options.basePath === undefined ? {} : { basePath: options.basePath }),
  });
  const logged: string[] = [];
  const debugLines: string[] = [];
  const write = (text: string) => void logged.push(text);
  const log: Log = { info: write, warning: write, error: write, group: (_title, body) => body() };
  const nextRun = () =>
    createForge({
      token: options.sentToken ?? TOKEN,
      tokenFrom: options.tokenFrom ?? 'input',
      apiUrl: github.url,
      userAgent: 'ralph-action',
      repository: { owner: 'octo', repo: 'demo' },
      log,
      debug: (text) => void debugLines.push(text),
      now: options.now ?? (() => now),
      pace: {
        requestMs: options.requestMs ?? 60_000,
        secondMs: options.secondMs ?? 1,
        retries: options.retries ?? 2,
        outageMs: 10_000,
        downloadMs: options.downloadMs ?? 10_000,
      },
    });
  return {
    github,
    forge: nextRun(),
    nextRun,
    branches,
    logged,
    debugLines,
    sent: () =>
      github.requests.map(
        ({ method, path, query }) =>
          `${method} ${path.replace('/repos/octo/demo', '')}${query === '' ? '' : `?${query}`}`,
      ),
    async [Symbol.asyncDispose]() {
      await github[Symbol.asyncDispose]();
      expect(github.violations).toEqual([]);
    },
  };
}

/** Returns the UserError with which `promise` rejects; fails on any other end. */
export async function refusedWith(promise: Promise<unknown>): Promise<UserError> {
  const error: unknown = await promise.then(
    () => 'no error',
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(UserError);
  return error as UserError;
}

/** Opens a pull request of a branch with commits of its own. */
export async function openPull(
  { forge }: Pick<ForgeFixture, 'forge'>,
  request: Parameters<ForgeAdapter['openPullRequest']>[0],
): Promise<PullRequest> {
  const opened = await forge.openPullRequest(request);
  if (opened === null) throw new Error(`There is nothing to merge on ${request.head}.`);
  return opened;
}
