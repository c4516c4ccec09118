import { describe, expect, test } from 'vitest';
import { startGitHub, type GitHub } from '../../../testbed/github/server.ts';
import type { TokenIdentity } from '../../../testbed/github/route.ts';
import { setServerRules } from '../../../testbed/server-rules.ts';
import { createForge } from '../../../src/github/forge.ts';
import type { Remote } from '../../../src/ports/repository.ts';
import { BRANCH, iterate, openFresh, setScene, TOKEN, type Scene } from './git-fixture.ts';

/** A scene whose server signs what its API makes, and requires signatures on branches. */
interface SignedScene extends AsyncDisposable {
  readonly scene: Scene;
  readonly github: GitHub;
  /** The remote of a new process. */
  readonly remote: (when?: 'auto' | 'true') => ReturnType<Scene['remote']>;
}

async function setSignedScene({ kind = 'app' }: { readonly kind?: TokenIdentity['kind'] } = {}): Promise<SignedScene> {
  const scene = await setScene();
  const login = kind === 'app' ? 'github-actions[bot]' : 'octo';
  const github = await startGitHub({
    repository: { owner: 'octo', name: 'sample', defaultBranch: 'main' },
    branches: () => ({}),
    repositoryFolder: scene.server.repositoryFolder,
    tokens: { [TOKEN]: { login, kind, permissions: { metadata: 'read', contents: 'write' } } },
    now: () => Date.now(),
  });
  const none = (): void => undefined;
  const forge = createForge({
    token: TOKEN,
    tokenFrom: 'input',
    apiUrl: github.url,
    userAgent: 'ralph-action',
    repository: { owner: 'octo', repo: 'sample' },
    log: { info: none, warning: none, error: none, group: (_, body) => body() },
    now: () => Date.now(),
    pace: { requestMs: 10_000, secondMs: 1, retries: 0, outageMs: 10_000, downloadMs: 10_000 },
  });
  await setServerRules(scene.server.repositoryFolder, [{ kind: 'signatures' }]);
  return {
    scene,
    github,
    remote: (when = 'auto') =>
      scene.remote({ signer: { isWanted: when === 'true', make: (commit) => forge.makeCommit(commit) } }),
    async [Symbol.asyncDispose]() {
      expect(github.violations).toEqual([]);
      await github[Symbol.asyncDispose]();
      await scene[Symbol.asyncDispose]();
    },
  };
}

/** Makes two iterations with everything that git can hold: programs, links, deletions. */
async function work(scene: Scene): Promise<{ readonly base: string; readonly commit: string }> {
  const base = await scene.serverGit('rev-parse', 'main');
  await openFresh(scene);
  const trailers = { 'Ralph-Task': 'issue-1', 'Co-authored-by': 'Claude <noreply@anthropic.com>' };
  await iterate(
    scene,
    async () => {
      await scene.write('run.sh', '#!/bin/sh\n');
      await scene.git('update-index', '--add', '--chmod=+x', 'run.sh');
      await scene.write('ünï.bin', Buffer.from([0, 1, 2, 255]));
    },
    scene.repository,
    trailers,
  );
  const { committed } = await iterate(
    scene,
    async () => {
      await scene.git('rm', '--quiet', 'src/greet.js');
    },
    scene.repository,
    trailers,
  );
  return { base, commit: committed.head };
}

const on = (base: string, commit: string) => ({ branch: BRANCH, since: base, commit });

async function signed(remote: Pick<Remote, 'sign'>, push: Parameters<Remote['sign']>[0]) {
  const answer = await remote.sign(push);
  if (answer.kind !== 'signed') throw new Error(`not signed: ${JSON.stringify(answer)}`);
  return answer;
}

const posts = (github: GitHub): number => github.requests.filter(({ path }) => path.endsWith('/git/commits')).length;

/** Returns content and message of each commit, the newest first. */
const contents = (scene: Scene, git: 'serverGit' | 'quarantineGit', range: string): Promise<string> =>
  scene[git]('log', '--format=%T %B', range);

describe('commits that a rule wants signed', () => {
  test('a refusal makes the next ones signed: same content, messages and order, and the branch takes them', async () => {
    await using set = await setSignedScene();
    const { scene, github } = set;
    const { base, commit } = await work(scene);
    const remote = set.remote();
    expect(await remote.sign(on(base, commit))).toEqual({ kind: 'as-they-are' });
    expect(await remote.pushOn({ ...on(base, commit), at: null })).toMatchObject({
      kind: 'refused',
      refusal: { kind: 'branch', rule: 'signatures' },
    });
    const made = await signed(remote, on(base, commit));
    expect(Object.keys(made.places)).toEqual(
      (await scene.quarantineGit('rev-list', '--reverse', `${base}..${commit}`)).split('\n'),
    );
    expect(await remote.pushOn({ ...on(base, made.head), at: null })).toEqual({ kind: 'pushed' });
    expect(await contents(scene, 'serverGit', `main..${BRANCH}`)).toBe(
      await contents(scene, 'quarantineGit', `${base}..${commit}`),
    );
    expect(await scene.serverGit('log', '-1', '--format=%an|%cn', BRANCH)).toBe('github-actions[bot]|GitHub');
    expect(await scene.serverGit('for-each-ref', '--format=%(refname)', 'refs/ralph')).toBe('');
    expect(posts(github)).toBe(2);
    // What is signed is not signed again.
    expect(await remote.sign(on(base, made.head))).toEqual({ kind: 'as-they-are' });
    await scene.serverGit('fsck', '--strict');
  });

  test('the work goes on from the signed commit, without a change in the work tree', async () => {
    await using set = await setSignedScene();
    const { scene } = set;
    const { base, commit } = await work(scene);
    const remote = set.remote('true');
    const made = await signed(remote, on(base, commit));
    await scene.repository.takeHead({ head: made.head, refused: [], putBack: false });
    expect(await scene.git('status', '--porcelain')).toBe('');
    expect(await remote.pushOn({ ...on(base, made.head), at: null })).toEqual({ kind: 'pushed' });
    const next = await iterate(scene, () => scene.write('next.txt', 'next'));
    expect(next.committed.publishedPaths).toEqual(['next.txt']);
    const then = await signed(remote, on(made.head, next.committed.head));
    expect(Object.keys(then.places)).toEqual([next.committed.head]);
    expect(await remote.pushOn({ ...on(made.head, then.head), at: made.head })).toEqual({ kind: 'pushed' });
    expect(await scene.serverGit('rev-parse', `${BRANCH}~1`)).toBe(made.head);
  });

  test('another process after a kill finds the signed commits on the branch, and signs none again', async () => {
    await using set = await setSignedScene();
    const { scene, github } = set;
    const { base, commit } = await work(scene);
    const first = set.remote('true');
    const made = await signed(first, on(base, commit));
    expect(await first.pushOn({ ...on(base, made.head), at: null })).toEqual({ kind: 'pushed' });
    const second = set.remote('true');
    expect(await second.sign(on(base, commit))).toEqual(made);
    expect(posts(github)).toBe(2);
    const start = { kind: 'continue', remoteHead: base } as const;
    expect(await second.push({ ...on(base, made.head), start })).toEqual({ kind: 'pushed' });
  });

  test.each(['push', 'pushOn'] as const)(
    '%s by a process that does not know of signatures finds its commits signed on the branch, and takes those',
    async (how) => {
      await using set = await setSignedScene();
      const { scene, github } = set;
      const { base, commit } = await work(scene);
      await scene.serverGit('branch', BRANCH, base);
      const first = set.remote('true');
      const made = await signed(first, on(base, commit));
      expect(await first.pushOn({ ...on(base, made.head), at: base })).toEqual({ kind: 'pushed' });
      const post = set.remote();
      const start = { kind: 'continue', remoteHead: base } as const;
      const push = (head: string) =>
        how === 'push' ? post.push({ ...on(base, head), start }) : post.pushOn({ ...on(base, head), at: base });
      expect(await push(commit)).toMatchObject({ kind: 'refused', refusal: { rule: 'signatures' } });
      expect(await post.sign(on(base, commit))).toEqual(made);
      expect(await push(made.head)).toEqual({ kind: 'pushed' });
      expect(posts(github)).toBe(2);
      expect(await scene.serverGit('rev-parse', BRANCH)).toBe(made.head);
      expect(await scene.serverGit('branch', '--list', 'ralph/*', '--format=%(refname:short)')).toBe(BRANCH);
    },
  );

  test('another process after a kill between signing and pushing signs once more, and the branch gets one of both', async () => {
    await using set = await setSignedScene();
    const { scene } = set;
    const { base, commit } = await work(scene);
    await signed(set.remote('true'), on(base, commit));
    // A kill in the middle leaves the ref that brought the content; the next signing removes it.
    await scene.serverGit('update-ref', `refs/ralph/v2/unsigned/${BRANCH}`, base);
    const remote = set.remote('true');
    const made = await signed(remote, on(base, commit));
    expect(await remote.pushOn({ ...on(base, made.head), at: null })).toEqual({ kind: 'pushed' });
    expect(await scene.serverGit('rev-list', '--count', `main..${BRANCH}`)).toBe('2');
    expect(await scene.serverGit('for-each-ref', '--format=%(refname)', 'refs/ralph')).toBe('');
  });

  test('a commit with a header that looks like a signature is refused by the server all the same', async () => {
    await using set = await setSignedScene();
    const { scene } = set;
    const { base, commit } = await work(scene);
    const text = await scene.quarantineGit('cat-file', 'commit', commit);
    const forged = text.replace('\n\n', '\ngpgsig forged\n\n');
    const { spawnSync } = await import('node:child_process');
    const made = spawnSync('git', ['hash-object', '-t', 'commit', '-w', '--stdin'], {
      input: `${forged}\n`,
      env: { ...process.env, GIT_DIR: `${scene.workFolder}/quarantine` },
      encoding: 'utf8',
    });
    expect(await set.remote().pushOn({ ...on(base, made.stdout.trim()), at: null })).toMatchObject({
      kind: 'refused',
      refusal: { rule: 'signatures' },
    });
  });
});

describe('what cannot be signed is known before the first call', () => {
  test.each(['auto', 'true'] as const)('%s: a new branch of an app is no obstacle', async (when) => {
    await using set = await setSignedScene();
    const refs = await set.scene.serverGit('for-each-ref');
    expect(await set.remote(when).pushObstacle(BRANCH)).toBeNull();
    expect(await set.remote(when).pushObstacle(null)).toBeNull();
    expect(await set.scene.serverGit('for-each-ref')).toBe(refs);
  });

  test.each([
    ['auto', BRANCH],
    ['true', BRANCH],
    ['true', null],
  ] as const)('%s: the token of a person, for whom GitHub does not sign: %s', async (when, branch) => {
    await using set = await setSignedScene({ kind: 'user' });
    const refs = await set.scene.serverGit('for-each-ref');
    expect(await set.remote(when).pushObstacle(branch)).toEqual({
      kind: 'configuration',
      why: expect.stringMatching(
        /GitHub did not sign the commits\. .*GitHub Apps.*\(The server said: unsigned\)/,
      ) as string,
    });
    expect(await set.scene.serverGit('for-each-ref')).toBe(refs);
  });

  test('another rule is still found beside the one about signatures', async () => {
    await using set = await setSignedScene();
    await setServerRules(set.scene.server.repositoryFolder, [
      { kind: 'signatures' },
      { kind: 'author', pattern: '@corp[.]example$' },
    ]);
    expect(await set.remote().pushObstacle(BRANCH)).toMatchObject({
      kind: 'configuration',
      why: expect.stringMatching(/does not accept the author/) as string,
    });
  });

  test('a probe of a branch that exists is signed as well', async () => {
    await using set = await setSignedScene();
    await openFresh(set.scene);
    const base = await set.scene.serverGit('rev-parse', 'main');
    await set.scene.serverGit('branch', BRANCH, base);
    expect(await set.remote().probePush(BRANCH, { at: base, since: base })).toEqual({ kind: 'pushed' });
    expect(await set.scene.serverGit('rev-parse', BRANCH)).toBe(base);
  });
});
