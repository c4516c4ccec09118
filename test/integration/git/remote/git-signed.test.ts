import { chmod, stat, symlink } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startGitHub, type GitHub } from '../../../../testbed/github/server.ts';
import type { TokenIdentity } from '../../../../testbed/github/route.ts';
import { setServerRules } from '../../../../testbed/server-rules.ts';
import { createForge } from '../../../../src/github/forge.ts';
import type { Forge } from '../../../../src/ports/forge.ts';
import type { Remote } from '../../../../src/ports/remote.ts';
import { BRANCH, iterate, openFresh, setScene, TOKEN, type Scene } from '../git-fixture.ts';

/** A scene whose server signs what its API makes, and requires signatures on branches. */
interface SignedScene extends AsyncDisposable {
  readonly scene: Scene;
  readonly github: GitHub;
  /** The remote of a new process; `change` is what the server makes of a commit. */
  readonly remote: (when?: 'auto' | 'true', change?: (commit: ApiCommit) => ApiCommit) => ReturnType<Scene['remote']>;
}

type ApiCommit = Parameters<Forge['makeCommit']>[0];

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
    remote: (when = 'auto', change = (commit) => commit) =>
      scene.remote({ signer: { isWanted: when === 'true', make: (commit) => forge.makeCommit(change(commit)) } }),
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
      await chmod(join(scene.folder, 'run.sh'), 0o755);
      await symlink('run.sh', join(scene.folder, 'link'));
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
    const listed = await scene.serverGit('ls-tree', '-r', '--format=%(objectmode) %(path)', BRANCH);
    expect(listed.split('\n')).toEqual(
      expect.arrayContaining(['100755 run.sh', '120000 link', String.raw`100644 "\303\274n\303\257.bin"`]) as string[],
    );
    expect(listed).not.toContain('greet.js');
    expect(await scene.serverGit('log', '-1', '--format=%an|%cn', BRANCH)).toBe('github-actions[bot]|GitHub');
    expect(await scene.serverGit('for-each-ref', '--format=%(refname)', 'refs/ralph')).toBe('');
    expect(posts(github)).toBe(2);
    // Signed commits are not signed again.
    expect(await remote.sign(on(base, made.head))).toEqual({ kind: 'as-they-are' });
    await scene.serverGit('fsck', '--strict');
  });

  test('the work continues from the signed commit, without a change in the work tree', async () => {
    await using set = await setSignedScene();
    const { scene } = set;
    const { base, commit } = await work(scene);
    const remote = set.remote('true');
    const made = await signed(remote, on(base, commit));
    await scene.repository.takeHead({ head: made.head, refused: [], workTree: 'as-it-is' });
    expect(await scene.git('status', '--porcelain')).toBe('');
    const clean = await scene.repository.checkOutCommitAlone(made.head, new AbortController().signal);
    expect((await stat(join(clean, 'run.sh'))).mode & 0o111).not.toBe(0);
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

  test.each(['push', 'pushOn'] as const)(
    '%s to a branch that a person moved says first that signatures are required, and nothing is lost',
    async (how) => {
      await using set = await setSignedScene();
      const { scene } = set;
      const { base, commit } = await work(scene);
      const tree = await scene.serverGit('rev-parse', `${base}^{tree}`);
      const theirs = await scene.serverGit('commit-tree', tree, '-p', base, '-m', 'By a person');
      await scene.serverGit('branch', BRANCH, theirs);
      const remote = set.remote();
      const start = { kind: 'continue', remoteHead: base } as const;
      const push = (head: string) =>
        how === 'push'
          ? remote.push({ ...on(base, head), start })
          : remote.pushOn({ ...on(base, head), at: base, mergesOthers: true });
      expect(await push(commit)).toMatchObject({ kind: 'refused', refusal: { rule: 'signatures' } });
      const made = await signed(remote, on(base, commit));
      const pushed = await push(made.head);
      const name = `${BRANCH}-run-${made.head.slice(0, 7)}`;
      expect(pushed).toMatchObject(
        how === 'push'
          ? { why: expect.stringContaining(`This run's commits are on ${name}`) as string }
          : { kind: 'moved' },
      );
      expect(await scene.serverGit('rev-parse', BRANCH)).toBe(theirs);
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

  test('a merge of the base keeps both parents', async () => {
    await using set = await setSignedScene();
    const { scene } = set;
    const { base, commit } = await work(scene);
    const remote = set.remote('true');
    const made = await signed(remote, on(base, commit));
    expect(await remote.pushOn({ ...on(base, made.head), at: null })).toEqual({ kind: 'pushed' });
    const main = await scene.server.commitByHand('main', { 'base.txt': 'base' });
    await scene.repository.leave();
    const repository = scene.reopen();
    const start = { kind: 'continue', remoteHead: made.head } as const;
    await repository.openLane({ branch: BRANCH, baseBranch: 'main', start });
    expect(await repository.beginMerge()).toMatchObject({ kind: 'begun', conflicts: [] });
    const { committed } = await iterate(scene, () => Promise.resolve(), repository);
    expect(committed.merge).toBe('made');
    const merged = await signed(remote, on(made.head, committed.head));
    expect(await remote.pushOn({ ...on(made.head, merged.head), at: made.head })).toEqual({ kind: 'pushed' });
    expect(await scene.serverGit('log', '-1', '--format=%P', BRANCH)).toBe(`${made.head} ${main}`);
  });

  test('content that the server refuses is refused before anything is signed, and named', async () => {
    await using set = await setSignedScene();
    const { scene, github } = set;
    const base = await scene.serverGit('rev-parse', 'main');
    await openFresh(scene);
    const { committed } = await iterate(scene, () => scene.write('big.txt', 'x'.repeat(2000)));
    await setServerRules(scene.server.repositoryFolder, [{ kind: 'signatures' }, { kind: 'file-size', bytes: 1000 }]);
    expect(await set.remote('true').sign(on(base, committed.head))).toMatchObject({
      kind: 'refused',
      refusal: { kind: 'content', files: ['big.txt'] },
    });
    expect(posts(github)).toBe(0);
  });

  test('a commit made again without a file loses its signature, which was for the old content', async () => {
    await using set = await setSignedScene();
    const { scene } = set;
    const { base, commit } = await work(scene);
    const remote = set.remote('true');
    const made = await signed(remote, on(base, commit));
    const remade = await remote.remakeCommitsWithout({ commit: made.head, since: base, paths: ['run.sh'] });
    expect(await scene.quarantineGit('cat-file', 'commit', remade?.head ?? '')).not.toContain('gpgsig');
    const again = await signed(remote, on(base, remade?.head ?? ''));
    expect(await remote.pushOn({ ...on(base, again.head), at: null })).toEqual({ kind: 'pushed' });
  });

  test('more commits than GitHub signs in an hour are refused before the first, with the number', async () => {
    await using set = await setSignedScene();
    const { scene, github } = set;
    const { base, commit } = await work(scene);
    const author = 'ralph <ralph@example.com> 1790000000 +0000';
    const commits = Array.from({ length: 401 }, (_, at) =>
      [
        'commit refs/heads/many',
        `committer ${author}`,
        'data 1',
        '.',
        ...(at === 0 ? [`from ${commit}`] : []),
        '',
      ].join('\n'),
    );
    const env = { ...process.env, GIT_DIR: join(scene.workFolder, 'quarantine') };
    spawnSync('git', ['fast-import', '--quiet'], { input: commits.join('\n'), env });
    const many = await scene.quarantineGit('rev-parse', 'refs/heads/many');
    expect(await set.remote('true').sign(on(base, many))).toEqual({
      kind: 'rejected',
      why: expect.stringMatching(/sign 403 commits at once, and at most 400 are possible/) as string,
    });
    expect(posts(github)).toBe(0);
  });

  test('content that must not be published never reaches the server', async () => {
    await using set = await setSignedScene();
    const { scene } = set;
    const { base, commit } = await work(scene);
    const tree = await scene.quarantineGit('rev-parse', `${commit}^{tree}`);
    const leaking = await scene.quarantineGit('commit-tree', tree, '-p', base, '-m', `Key ${TOKEN}`);
    expect(await set.remote('true').sign(on(base, leaking))).toMatchObject({
      kind: 'rejected',
      why: expect.stringContaining('must not be published') as string,
    });
    await expect(scene.serverGit('cat-file', '-e', leaking)).rejects.toThrow();
  });

  test.each<
    [string, (commit: ApiCommit, first: { readonly base: string; readonly tree: string }) => Partial<ApiCommit>]
  >([
    ['message', ({ message }) => ({ message: `${message}\nCloses #1` })],
    ['tree', (_, { tree }) => ({ tree })],
    ['order', (_, { base }) => ({ parents: [base] })],
  ])('a signed commit with another %s than was inspected is not used', async (_, change) => {
    await using set = await setSignedScene();
    const { scene } = set;
    const { base, commit } = await work(scene);
    const tree = await scene.serverGit('rev-parse', `${base}^{tree}`);
    const remote = set.remote('true', (one) => ({ ...one, ...change(one, { base, tree }) }));
    const refs = await scene.serverGit('for-each-ref');
    expect(await remote.sign(on(base, commit))).toEqual({
      kind: 'rejected',
      why: expect.stringContaining('as it was inspected') as string,
    });
    expect(await scene.serverGit('for-each-ref')).toBe(refs);
  });

  test.each([
    ['a permission is missing', 403, 'refused'],
    ['GitHub fails', 502, 'unreachable'],
  ] as const)('%s: the branch stays where it is, and nothing is left behind', async (_, status, kind) => {
    await using set = await setSignedScene();
    const { scene, github } = set;
    const { base, commit } = await work(scene);
    github.faults.inject({
      match: { path: /git\/commits$/ },
      times: 1,
      effect: { kind: 'answer', status, body: { message: 'No' } },
    });
    const refs = await scene.serverGit('for-each-ref');
    expect(await set.remote('true').sign(on(base, commit))).toMatchObject({ kind });
    expect(await scene.serverGit('for-each-ref')).toBe(refs);
  });

  test('a commit with a header that looks like a signature is still refused by the server', async () => {
    await using set = await setSignedScene();
    const { scene } = set;
    const { base, commit } = await work(scene);
    const text = await scene.quarantineGit('cat-file', 'commit', commit);
    const forged = text.replace('\n\n', '\ngpgsig forged\n\n');
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
  test.each(['auto', 'true'] as const)('%s: with the token of an app, a new branch can be pushed', async (when) => {
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
