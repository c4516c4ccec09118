import { explainRefusal } from '../../../../src/core/refusals/refusal.ts';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startGitRemote } from '../../../../testbed/git-remote.ts';
import { locateQuarantine } from '../../../../src/git/checkout/quarantine.ts';
import {
  BRANCH,
  iterate,
  openFresh,
  openState,
  READ_ONLY_TOKEN,
  setScene,
  startWay,
  TOKEN,
  type Scene,
} from '../git-fixture.ts';

/** Makes one commit on the lane and returns it. */
async function work(scene: Scene, path = 'a.txt'): Promise<string> {
  await openFresh(scene);
  return (await iterate(scene, () => scene.write(path, 'a'))).committed.head;
}

function tipOf(scene: Scene, name: string): Promise<string> {
  return scene.serverGit('rev-parse', '--verify', '--quiet', `refs/heads/${name}`).catch(() => 'none');
}

/** Pushes a person's commit, which may add a file, to the lane's branch and returns it. */
async function personPushes(scene: Scene, path?: string, message = 'theirs'): Promise<string> {
  const main = await tipOf(scene, 'main');
  await scene.serverGit('read-tree', main);
  const blob = await scene.serverGit('rev-parse', `${main}:README.md`);
  if (path !== undefined) await scene.serverGit('update-index', '--add', '--cacheinfo', `100644,${blob},${path}`);
  const theirs = await scene.serverGit('commit-tree', await scene.serverGit('write-tree'), '-p', main, '-m', message);
  await scene.serverGit('update-ref', `refs/heads/${BRANCH}`, theirs);
  return theirs;
}

interface MergedPush {
  readonly branch: string;
  readonly commit: string;
  readonly since: string;
  readonly at: string;
}

function continuing({ at }: MergedPush) {
  return { kind: 'continue', remoteHead: at } as const;
}

describe('before the push', () => {
  test('lists the branches under the prefix; a token that may push gets that answer, and nothing is left behind', async () => {
    await using scene = await setScene();
    for (const name of ['ralph/queue', 'ralph/issue-1', 'ralphs', 'feature'])
      await scene.serverGit('branch', name, 'main');
    const main = await tipOf(scene, 'main');
    const refs = await scene.serverGit('for-each-ref');
    expect(await scene.remote().branches('ralph/')).toEqual({ 'ralph/queue': main, 'ralph/issue-1': main });
    expect(Object.keys(await scene.remote().branches(''))).toEqual(
      expect.arrayContaining(['feature', 'main', 'ralphs']),
    );
    expect(await scene.remote().pushObstacle(null)).toBeNull();
    expect(await scene.serverGit('for-each-ref')).toBe(refs);
    expect(
      scene.server.requests.filter((request) => request.method === 'POST' && request.path.endsWith('git-receive-pack')),
    ).toEqual([]);
    expect(await readdir(scene.workFolder)).toEqual([]);
  });

  test('a token that may only read is refused with the permission that is missing', async () => {
    await using scene = await setScene();
    expect(await scene.remote({ token: READ_ONLY_TOKEN }).pushObstacle(null)).toEqual({
      kind: 'configuration',
      why: expect.stringContaining('contents: write'),
    });
  });

  test.each(['wrong-token-0123', ''])(
    'the token %j is not known: an error says so, and does not name it',
    async (wrong) => {
      await using scene = await setScene();
      const failure = await scene
        .remote({ token: wrong })
        .branches('ralph/')
        .catch((error: unknown) => error as Error);
      expect(failure).toMatchObject({
        name: 'UserError',
        message: expect.stringMatching(/cannot be read.*The token is not accepted: it has expired, was revoked/s),
      });
      expect(String((failure as Error).stack)).not.toContain('wrong-token');
    },
  );
});

describe('push()', () => {
  test('fresh: creates the branch, with the token as a header of this command only', async () => {
    await using scene = await setScene();
    const commit = await work(scene);
    expect(await scene.remote().push({ branch: BRANCH, commit, start: { kind: 'fresh' } })).toEqual({ kind: 'pushed' });
    expect(await tipOf(scene, BRANCH)).toBe(commit);
    const basic = `basic ${Buffer.from(`x-access-token:${TOKEN}`).toString('base64')}`;
    expect(new Set(scene.server.requests.map((request) => request.authorization))).toEqual(new Set([basic]));
    const left = await readdir(scene.workFolder);
    expect(left.map((name) => name.replace(/-\w{6}$/, ''))).toEqual([
      ...['no-work-tree', 'quarantine', 'repository', 'tree-repository', 'trees'],
    ]);
  });

  test('again with the same commit: already pushed', async () => {
    await using scene = await setScene();
    const commit = await work(scene);
    await scene.remote().push({ branch: BRANCH, commit, start: { kind: 'fresh' } });
    expect(await scene.remote().push({ branch: BRANCH, commit, start: { kind: 'fresh' } })).toEqual({ kind: 'pushed' });
  });

  test('fresh, but the branch exists by now: rejected, nothing overwritten', async () => {
    await using scene = await setScene();
    const commit = await work(scene);
    await scene.serverGit('branch', BRANCH, 'main');
    expect(await scene.remote().push({ branch: BRANCH, commit, start: { kind: 'fresh' } })).toEqual({
      kind: 'rejected',
      why: expect.stringContaining('Nothing was overwritten'),
    });
    expect(await tipOf(scene, BRANCH)).toBe(await tipOf(scene, 'main'));
  });

  test('continue: fast-forwards from the tip that the lane started from', async () => {
    await using scene = await setScene();
    const first = await work(scene);
    await scene.remote().push({ branch: BRANCH, commit: first, start: { kind: 'fresh' } });
    const second = (await iterate(scene, () => scene.write('b.txt', 'b'))).committed.head;
    expect(
      await scene.remote().push({ branch: BRANCH, commit: second, start: { kind: 'continue', remoteHead: first } }),
    ).toEqual({ kind: 'pushed' });
    expect(await tipOf(scene, BRANCH)).toBe(second);
  });

  test('continue: a commit that does not build on the tip that the lane started from is not pushed', async () => {
    await using scene = await setScene();
    const first = await work(scene);
    await scene.remote().push({ branch: BRANCH, commit: first, start: { kind: 'fresh' } });
    const elsewhere = await scene.quarantineGit('commit-tree', `${first}^{tree}`, '-p', `${first}^`, '-m', 'elsewhere');
    expect(
      await scene.remote().push({ branch: BRANCH, commit: elsewhere, start: { kind: 'continue', remoteHead: first } }),
    ).toEqual({ kind: 'rejected', why: expect.stringContaining('does not build on') });
    expect(await tipOf(scene, BRANCH)).toBe(first);
  });

  test('continue: a branch that was removed meanwhile (merged, "delete head branches") is made again', async () => {
    await using scene = await setScene();
    const first = await work(scene);
    await scene.remote().push({ branch: BRANCH, commit: first, start: { kind: 'fresh' } });
    const second = (await iterate(scene, () => scene.write('b.txt', 'b'))).committed.head;
    await scene.serverGit('branch', '-D', BRANCH);
    expect(
      await scene.remote().push({ branch: BRANCH, commit: second, start: { kind: 'continue', remoteHead: first } }),
    ).toEqual({ kind: 'pushed' });
    expect(await tipOf(scene, BRANCH)).toBe(second);
  });

  test.each([
    ['the branch is still there', 'merged', 'pushed'],
    ['GitHub removed the branch', 'gone', 'pushed'],
    ['the branch has something new', 'moved', 'rejected'],
  ])('restart: %s', async (_, state, kind) => {
    await using scene = await setScene();
    const main = await tipOf(scene, 'main');
    const merged = await scene.serverGit('commit-tree', `${main}^{tree}`, '-p', main, '-m', 'merged');
    const moved = await scene.serverGit('commit-tree', `${main}^{tree}`, '-p', merged, '-m', 'moved');
    if (state !== 'gone') await scene.serverGit('branch', BRANCH, state === 'merged' ? merged : moved);
    await scene.repository.openLane({
      branch: BRANCH,
      baseBranch: 'main',
      start: { kind: 'restart', mergedHead: merged },
    });
    const { committed } = await iterate(scene, () => scene.write('a.txt', 'a'));
    expect(
      await scene
        .remote()
        .push({ branch: BRANCH, commit: committed.head, start: { kind: 'restart', mergedHead: merged } }),
    ).toMatchObject({ kind });
    expect(await tipOf(scene, BRANCH)).toBe(kind === 'pushed' ? committed.head : moved);
  });

  test.each([
    ['main', 'ralph/', 'does not start with'],
    ['ralph/', 'ralph/', 'does not start with'],
    ['ralph', 'ralph/', 'does not start with'],
    ['main', 'ma', 'is the default branch'],
    ['main', '', 'does not start with'],
    ['ralph/a b', 'ralph/', 'cannot be the name'],
    ['ralph/../main', 'ralph/', 'cannot be the name'],
    ['ralph/x:main', 'ralph/', 'cannot be the name'],
  ])('the branch %j with the prefix %j: %s', async (name, branchPrefix, why) => {
    await using scene = await setScene();
    const commit = await work(scene);
    const refs = await scene.serverGit('for-each-ref');
    expect(await scene.remote({ branchPrefix }).push({ branch: name, commit, start: { kind: 'fresh' } })).toEqual({
      kind: 'rejected',
      why: expect.stringContaining(why),
    });
    expect(await scene.serverGit('for-each-ref')).toBe(refs);
  });

  test('a token that may only read', async () => {
    await using scene = await setScene();
    const commit = await work(scene);
    expect(
      await scene.remote({ token: READ_ONLY_TOKEN }).push({ branch: BRANCH, commit, start: { kind: 'fresh' } }),
    ).toEqual({ kind: 'refused', refusal: expect.objectContaining({ kind: 'branch', rule: 'access' }) });
  });

  test('a repository that takes no pushes (archived, or a token without the permission)', async () => {
    await using scene = await setScene();
    await scene.server.setRule('read-only');
    expect(await scene.remote().pushObstacle(null)).toMatchObject({ kind: 'configuration' });
    await scene.server.setRule('open');
    expect(await scene.remote().pushObstacle(null)).toBeNull();
  });

  test("workflow files: GitHub's words, and what to do about it", async () => {
    await using scene = await setScene({ allowProtectedPaths: ['.github/**'] });
    const commit = await work(scene, '.github/workflows/x.yml');
    await scene.server.setRule('no-workflow-files');
    const pushed = await scene.remote().push({ branch: BRANCH, commit, start: { kind: 'fresh' } });
    expect(pushed).toMatchObject({
      kind: 'refused',
      refusal: { kind: 'content', rule: 'workflow', files: ['.github/workflows/x.yml'] },
    });
    expect('refusal' in pushed ? explainRefusal(pushed.refusal) : '').toMatch(
      /GITHUB_TOKEN never may.*"workflows" permission.*refusing to allow a GitHub App to create or update workflow `\.github\/workflows\/x\.yml`/s,
    );
    expect(await tipOf(scene, BRANCH)).toBe('none');
  });

  test('the rule about workflow files lets other pushes through', async () => {
    await using scene = await setScene();
    const commit = await work(scene);
    await scene.server.setRule('no-workflow-files');
    expect(await scene.remote().push({ branch: BRANCH, commit, start: { kind: 'fresh' } })).toEqual({ kind: 'pushed' });
  });

  test('a protected branch', async () => {
    await using scene = await setScene();
    const commit = await work(scene);
    await scene.server.setRule('protected-branch');
    expect(await scene.remote().push({ branch: BRANCH, commit, start: { kind: 'fresh' } })).toMatchObject({
      kind: 'refused',
      refusal: { kind: 'branch', words: expect.stringContaining('GH006') },
    });
  });
});

describe('a branch that somebody else pushed to during the run', () => {
  const ways = [
    ['push()', (scene: Scene, push: MergedPush) => scene.remote().push({ ...push, start: continuing(push) })],
    ['pushOn()', (scene: Scene, push: MergedPush) => scene.remote().pushOn({ ...push, mergesOthers: true })],
    [
      'pushWithState()',
      async (scene: Scene, push: MergedPush) => {
        const cells = await openState(scene.server, scene.workFolder);
        return scene.remote().pushWithState({ ...push, along: cells.carry(null, 'state') });
      },
    ],
  ] as const;

  test.each(ways)(
    "%s: a person's commit stays, protected files included, and ours land on top of it",
    async (_, push) => {
      await using scene = await setScene();
      const main = await tipOf(scene, 'main');
      const commit = await work(scene);
      const theirs = await personPushes(scene, '.github/workflows/ci.yml');
      const pushed = await push(scene, { branch: BRANCH, commit, since: main, at: main });
      const merged = await tipOf(scene, BRANCH);
      expect(pushed).toMatchObject({ kind: 'pushed', merged });
      expect(await scene.serverGit('rev-list', '--parents', '-1', merged)).toBe(`${merged} ${commit} ${theirs}`);
      const files = await scene.serverGit('ls-tree', '-r', '--name-only', merged);
      expect(files.split('\n')).toEqual(expect.arrayContaining(['.github/workflows/ci.yml', 'a.txt']));
      expect(await scene.remote().branches('ralph/')).toEqual({ [BRANCH]: merged });
      // The next iteration builds on the merge.
      await scene.quarantineGit('rev-list', '--objects', '--quiet', merged);
      const next = await scene.quarantineGit('commit-tree', `${merged}^{tree}`, '-p', merged, '-m', 'next');
      const on = { branch: BRANCH, commit: next, since: merged, at: merged };
      expect(await scene.remote().pushOn(on)).toEqual({ kind: 'pushed' });
      await scene.serverGit('fsck', '--strict');
    },
  );

  test.each(ways)('%s: what our commits must not bring is refused also where they would be merged', async (_, push) => {
    await using scene = await setScene();
    const main = await tipOf(scene, 'main');
    await openFresh(scene);
    const blob = await scene.quarantineGit('rev-parse', `${main}:README.md`);
    await scene.quarantineGit('update-index', '--add', '--cacheinfo', `100644,${blob},.github/workflows/ci.yml`);
    const tree = await scene.quarantineGit('write-tree');
    const commit = await scene.quarantineGit('commit-tree', tree, '-p', main, '-m', 'forged');
    const theirs = await personPushes(scene, 'b.txt');
    expect(await push(scene, { branch: BRANCH, commit, since: main, at: main })).toMatchObject({ kind: 'rejected' });
    expect(await scene.remote().branches('ralph/')).toEqual({ [BRANCH]: theirs });
  });

  test('the merge names the run, and is signed off as the newest commit of the run is', async () => {
    await using scene = await setScene();
    const main = await tipOf(scene, 'main');
    await work(scene);
    const trailers = 'Ralph-Run: 7\nSigned-off-by: ralph <ralph@example.com>';
    const signed = await scene.quarantineGit('commit-tree', `${main}^{tree}`, '-p', main, '-m', 'Add', '-m', trailers);
    await personPushes(scene, 'b.txt', 'theirs\n\nSigned-off-by: Ada <ada@example.com>');
    const push = { branch: BRANCH, commit: signed, since: main, at: main };
    expect(await scene.remote().push({ ...push, start: continuing(push) })).toMatchObject({ kind: 'pushed' });
    expect(await scene.serverGit('log', '-1', '--format=%B', BRANCH)).toBe(
      `Merge what others pushed to ${BRANCH}\n\n${trailers}`,
    );
  });

  test.each(ways)('%s: a conflict is named, and nothing is overwritten', async (_, push) => {
    await using scene = await setScene();
    const main = await tipOf(scene, 'main');
    const commit = await work(scene);
    const theirs = await personPushes(scene, 'a.txt');
    expect(await push(scene, { branch: BRANCH, commit, since: main, at: main })).toMatchObject({
      kind: expect.stringMatching(/moved|rejected/) as string,
      why: expect.stringContaining("conflict with this run's in a.txt") as string,
    });
    expect(await tipOf(scene, BRANCH)).toBe(theirs);
  });

  test('a push after the last commits of the run changes nothing, and neither does a second look at our own merge', async () => {
    await using scene = await setScene();
    const main = await tipOf(scene, 'main');
    const commit = await work(scene);
    const push = { branch: BRANCH, commit, since: main, at: main };
    await personPushes(scene, 'b.txt');
    const again = () => scene.remote().push({ ...push, start: continuing(push) });
    const first = await again();
    const merged = await tipOf(scene, BRANCH);
    expect(first).toEqual({ kind: 'pushed', merged });
    // Main was killed before it recorded the merge; then a person pushes on top.
    expect(await again()).toEqual({ kind: 'pushed', merged });
    const later = await scene.serverGit('commit-tree', `${merged}^{tree}`, '-p', merged, '-m', 'later');
    await scene.serverGit('update-ref', `refs/heads/${BRANCH}`, later);
    expect(await again()).toEqual({ kind: 'pushed', merged: later });
    expect(await scene.remote().branches('ralph/')).toEqual({ [BRANCH]: later });
    await scene.quarantineGit('rev-list', '--objects', '--quiet', later);
  });

  test.each(ways)('%s: commits of another run are not merged', async (_, push) => {
    await using scene = await setScene();
    const main = await tipOf(scene, 'main');
    const commit = await work(scene);
    const theirs = await personPushes(scene, 'b.txt', 'theirs\n\nRalph-Run: 1');
    expect(await push(scene, { branch: BRANCH, commit, since: main, at: main })).not.toMatchObject({ kind: 'pushed' });
    expect(await tipOf(scene, BRANCH)).toBe(theirs);
  });

  test.each(['fresh', 'continue', 'restart'] as const)(
    '%s: nothing is overwritten, the commits are kept on a branch of their own, also when pushed again',
    async (kind) => {
      await using scene = await setScene();
      const main = await tipOf(scene, 'main');
      const commit = await work(scene);
      const theirs = await personPushes(scene, 'a.txt');
      const start = {
        fresh: { kind: 'fresh' },
        continue: { kind: 'continue', remoteHead: main },
        restart: { kind: 'restart', mergedHead: main },
      } as const;
      const kept = `${BRANCH}-run-${commit.slice(0, 7)}`;
      for (let i = 0; i < 2; i++) {
        expect(await scene.remote().push({ branch: BRANCH, commit, start: start[kind] })).toEqual({
          kind: 'rejected',
          why: expect.stringMatching(
            `at ${theirs} now.*Nothing was overwritten.*commits are on ${kept}: merge or cherry-pick`,
          ),
        });
      }
      expect(await scene.remote().branches('ralph/')).toEqual({ [BRANCH]: theirs, [kept]: commit });
    },
  );

  test('while the push was under way: kept as well', async () => {
    await using scene = await setScene();
    const main = await tipOf(scene, 'main');
    const commit = await work(scene);
    let theirs = '';
    await using way = await startWay(scene.server, async (path) => {
      if (theirs === '' && path.endsWith('service=git-receive-pack')) theirs = await personPushes(scene);
      return 'open';
    });
    expect(
      await scene
        .remote({ url: way.url })
        .push({ branch: BRANCH, commit, start: { kind: 'continue', remoteHead: main } }),
    ).toEqual({ kind: 'rejected', why: expect.stringContaining('commits are on') });
    expect(await scene.remote().branches('ralph/')).toEqual({
      [BRANCH]: theirs,
      [`${BRANCH}-run-${commit.slice(0, 7)}`]: commit,
    });
  });

  test.each([
    [
      'the server refuses that branch, too',
      (scene: Scene) => scene.server.setRule('protected-branch'),
      'only through pull requests',
    ],
    ['its name is taken', (scene: Scene, kept: string) => scene.serverGit('branch', kept, 'main'), 'exists already'],
  ])('%s: reports that the commits are lost', async (_, prevent, why) => {
    await using scene = await setScene();
    const commit = await work(scene);
    await personPushes(scene);
    await prevent(scene, `${BRANCH}-run-${commit.slice(0, 7)}`);
    const refs = await scene.serverGit('for-each-ref');
    expect(await scene.remote().push({ branch: BRANCH, commit, start: { kind: 'fresh' } })).toEqual({
      kind: 'rejected',
      why: expect.stringMatching(new RegExp(`are lost: .*${why}`)),
    });
    expect(await scene.serverGit('for-each-ref')).toBe(refs);
  });
});

describe('a server that does not answer', () => {
  test.each([
    ['to the look before it', '/info/refs', 'cannot be read'],
    ['to the push', '/git-receive-pack', 'took too long'],
  ])('%s costs a push its time limit and no second try, and is named', async (_, path, why) => {
    await using scene = await setScene();
    const commit = await work(scene);
    let unanswered = 0;
    await using way = await startWay(scene.server, (asked) => {
      const isSilent = asked.split('?')[0]?.endsWith(path) === true;
      unanswered += isSilent ? 1 : 0;
      return Promise.resolve(isSilent ? 'silent' : 'open');
    });
    const pushed = scene
      .remote({ url: way.url, commandTimeoutMs: 1_000 })
      .push({ branch: BRANCH, commit, start: { kind: 'fresh' } })
      .catch((error: unknown) => ({ why: String(error) }));
    expect(await pushed).toMatchObject({ why: expect.stringContaining(why) as string });
    expect(unanswered).toBe(1);
  });
});

describe('a server that cannot be reached is tried once more', () => {
  const push = (scene: Scene, url: string, commit: string) =>
    scene.remote({ url }).push({ branch: BRANCH, commit, start: { kind: 'fresh' } });

  test.each([
    ['reading', 'git-upload-pack', 503],
    ['reading', 'git-upload-pack', 'cut'],
    ['pushing', 'git-receive-pack', 503],
    ['pushing', 'git-receive-pack', 'cut'],
  ] as const)('%s (%s), %s once: pushed', async (_, service, fault) => {
    await using scene = await setScene();
    const commit = await work(scene);
    let faults = 0;
    await using way = await startWay(scene.server, (path) =>
      Promise.resolve(path.endsWith(service) && faults++ === 0 ? fault : 'open'),
    );
    expect(await push(scene, way.url, commit)).toEqual({ kind: 'pushed' });
    expect(await tipOf(scene, BRANCH)).toBe(commit);
  });

  test('the answer to the push is lost: pushed anyway', async () => {
    await using scene = await setScene();
    const commit = await work(scene);
    let lost = 0;
    await using way = await startWay(scene.server, (path) =>
      Promise.resolve(path.endsWith('/git-receive-pack') && lost++ === 0 ? 'answer lost' : 'open'),
    );
    expect(await push(scene, way.url, commit)).toEqual({ kind: 'pushed' });
    expect(lost).toBeGreaterThan(0);
    expect(await tipOf(scene, BRANCH)).toBe(commit);
  });

  test('broken twice: an error, after two requests', async () => {
    await using scene = await setScene();
    let requests = 0;
    await using way = await startWay(scene.server, () => Promise.resolve(requests++ < 2 ? 503 : 'open'));
    await expect(scene.remote({ url: way.url }).branches('ralph/')).rejects.toThrow(
      /cannot be read.*Check that the server can be reached/s,
    );
    expect(requests).toBe(2);
  });

  test('pushes are broken off each time: the server could not be reached', async () => {
    await using scene = await setScene();
    const commit = await work(scene);
    await using way = await startWay(scene.server, (path) =>
      Promise.resolve(path.endsWith('git-receive-pack') ? 503 : 'open'),
    );
    expect(await push(scene, way.url, commit)).toEqual({
      kind: 'unreachable',
      why: expect.stringContaining('could not be reached'),
    });
    expect(await scene.remote({ url: way.url }).pushObstacle(null)).toEqual({
      kind: 'transient',
      why: expect.stringContaining('could not be reached'),
    });
  });

  test('a refusal is final', async () => {
    await using scene = await setScene();
    const commit = await work(scene);
    await scene.server.setRule('read-only');
    await scene.remote().push({ branch: BRANCH, commit, start: { kind: 'fresh' } });
    expect(scene.server.requests.filter(({ path }) => path.endsWith('git-receive-pack'))).toHaveLength(1);
  });
});

describe('commits that the agent took away are not blamed on the server', () => {
  test.each([
    ['removed', (folder: string) => rm(folder, { recursive: true })],
    ['emptied', (folder: string) => rm(join(folder, 'objects', 'pack'), { recursive: true })],
  ])('the quarantine was %s', async (_, damage) => {
    await using scene = await setScene();
    const main = await tipOf(scene, 'main');
    const commit = await work(scene);
    await scene.serverGit('branch', BRANCH, main);
    await damage(locateQuarantine(scene.workFolder));
    expect(
      await scene.remote().push({ branch: BRANCH, commit, start: { kind: 'continue', remoteHead: main } }),
    ).toEqual({ kind: 'rejected', why: expect.stringContaining("no longer in the run's own folder") });
    expect(await tipOf(scene, BRANCH)).toBe(main);
  });

  test.each([
    ['removed', (scene: Scene) => rm(join(scene.folder, '.git'), { recursive: true })],
    [
      'replaced',
      async (scene: Scene) => {
        await rm(join(scene.folder, '.git'), { recursive: true });
        await scene.git('init', '--quiet');
      },
    ],
  ])('a git directory of the checkout that was %s changes nothing', async (_, damage) => {
    await using scene = await setScene();
    const commit = await work(scene);
    await damage(scene);
    expect(await scene.remote().push({ branch: BRANCH, commit, start: { kind: 'fresh' } })).toEqual({ kind: 'pushed' });
    expect(await tipOf(scene, BRANCH)).toBe(commit);
  });
});

describe('a hostile checkout cannot send the push or the token elsewhere', () => {
  test.each([
    ['url.insteadOf', (scene: Scene, other: string) => scene.git('config', `url.${other}.insteadOf`, scene.server.url)],
    [
      'url.pushInsteadOf',
      (scene: Scene, other: string) => scene.git('config', `url.${other}.pushInsteadOf`, scene.server.url),
    ],
    ['remote.origin.pushurl', (scene: Scene, other: string) => scene.git('config', 'remote.origin.pushurl', other)],
    ['http.proxy', (scene: Scene, other: string) => scene.git('config', 'http.proxy', other)],
    [
      'an include',
      async (scene: Scene, other: string) => {
        await scene.write('.git/evil', `[url "${other}"]\n\tinsteadOf = ${scene.server.url}\n`);
        await scene.git('config', 'include.path', 'evil');
      },
    ],
    [
      "global config of the agent's home",
      async (scene: Scene, other: string) => {
        await writeFile(
          join(scene.folder, '..', '.gitconfig'),
          `[url "${other}"]\n\tinsteadOf = ${scene.server.url}\n`,
        );
      },
    ],
  ])('%s', async (_, set) => {
    await using scene = await setScene();
    await using other = await startGitRemote({ token: 'other', repository: 'evil/twin' });
    const commit = await work(scene);
    await set(scene, other.url);
    expect(await scene.remote().push({ branch: BRANCH, commit, start: { kind: 'fresh' } })).toEqual({ kind: 'pushed' });
    await scene.repository.openLane({ branch: 'ralph/issue-3', baseBranch: 'main', start: { kind: 'fresh' } });
    expect(other.requests).toEqual([]);
  });

  test.each([
    ['an alternate that is not there', '/nowhere/objects\n'],
    ['an alternate that is the server itself', ''],
  ])('%s', async (_, alternates) => {
    await using scene = await setScene();
    const commit = await work(scene);
    await writeFile(
      join(scene.folder, '.git', 'objects', 'info', 'alternates'),
      alternates || `${scene.server.repositoryFolder}/objects\n`,
    );
    const later = (await iterate(scene, () => scene.write('b.txt', 'b'))).committed.head;
    expect(await scene.remote().push({ branch: BRANCH, commit: later, start: { kind: 'fresh' } })).toEqual({
      kind: 'pushed',
    });
    await scene.serverGit('merge-base', '--is-ancestor', commit, BRANCH);
    await scene.serverGit('fsck', '--strict');
  });
});

describe('deleteBranch()', () => {
  /** Merges the lane's branch at its tip and returns the tip. */
  async function merged(scene: Scene): Promise<string> {
    const head = await work(scene);
    await scene.remote().push({ branch: BRANCH, commit: head, start: { kind: 'fresh' } });
    await scene.serverGit('update-ref', 'refs/heads/main', head);
    return head;
  }

  test('deletes the branch, and no other', async () => {
    await using scene = await setScene();
    const head = await merged(scene);
    await scene.serverGit('branch', 'ralph/issue-9', head);
    // A run that was killed while it signed has left the other ref.
    await scene.serverGit('update-ref', `refs/ralph/v2/unsigned/${BRANCH}`, head);
    expect(await scene.remote().deleteBranch({ branch: BRANCH, head })).toEqual({ kind: 'deleted' });
    expect(await scene.serverGit('for-each-ref', 'refs/ralph')).toBe('');
    expect(await scene.remote().branches('')).toEqual({ main: head, 'ralph/issue-9': head });
    expect(await scene.remote().deleteBranch({ branch: BRANCH, head })).toEqual({ kind: 'gone' });
  });

  test('leaves a branch that holds anything else than what was merged', async () => {
    await using scene = await setScene();
    const head = await merged(scene);
    const theirs = await personPushes(scene);
    expect(await scene.remote().deleteBranch({ branch: BRANCH, head })).toEqual({ kind: 'moved' });
    expect(await tipOf(scene, BRANCH)).toBe(theirs);
  });

  test.each([['main'], ['feature'], ['ralph/'], ['']])(
    'never deletes %j, which has not our prefix and a name',
    async (name) => {
      await using scene = await setScene();
      const head = await merged(scene);
      await scene.serverGit('branch', 'feature', head);
      expect(await scene.remote().deleteBranch({ branch: name, head })).toMatchObject({
        kind: 'rejected',
        why: expect.stringContaining('no other branch is ever deleted'),
      });
      expect(await scene.remote().branches('')).toEqual({ main: head, feature: head, [BRANCH]: head });
    },
  );

  test('never deletes the default branch, though it has our prefix', async () => {
    await using scene = await setScene();
    const head = await merged(scene);
    await scene.serverGit('symbolic-ref', 'HEAD', `refs/heads/${BRANCH}`);
    expect(await scene.remote().deleteBranch({ branch: BRANCH, head })).toMatchObject({
      kind: 'rejected',
      why: expect.stringContaining('default branch'),
    });
    expect(await tipOf(scene, BRANCH)).toBe(head);
  });

  test('an invalid branch name counts as gone', async () => {
    await using scene = await setScene();
    expect(await scene.remote().deleteBranch({ branch: 'ralph/a..b:main', head: await merged(scene) })).toEqual({
      kind: 'gone',
    });
  });

  test('a token that may only read is refused with the permission that is missing', async () => {
    await using scene = await setScene();
    const head = await merged(scene);
    expect(await scene.remote({ token: READ_ONLY_TOKEN }).deleteBranch({ branch: BRANCH, head })).toMatchObject({
      kind: 'refused',
      refusal: { rule: 'access', meaning: expect.stringContaining('contents: write') },
    });
    expect(await tipOf(scene, BRANCH)).toBe(head);
  });
});

describe('pushOn()', () => {
  const since = (scene: Scene) => tipOf(scene, 'main');
  const pushed = { kind: 'pushed' };

  test('makes the branch, and continues from where it left it, in one request each', async () => {
    await using scene = await setScene();
    const base = await since(scene);
    const first = await work(scene);
    const on = { branch: BRANCH, since: base };
    expect(await scene.remote().pushOn({ ...on, commit: base, at: null })).toEqual(pushed);
    expect(await scene.remote().pushOn({ ...on, commit: first, at: base })).toEqual(pushed);
    expect(await tipOf(scene, BRANCH)).toBe(first);
  });

  test("a lost answer does not end the run: the branch is at one of Ralph's commits", async () => {
    await using scene = await setScene();
    const base = await since(scene);
    const first = await work(scene);
    const second = (await iterate(scene, () => scene.write('b.txt', 'b'))).committed.head;
    const on = { branch: BRANCH, since: base, at: null };
    expect(await scene.remote().pushOn({ ...on, commit: first })).toEqual(pushed);
    expect(await scene.remote().pushOn({ ...on, commit: first })).toEqual(pushed);
    expect(await scene.remote().pushOn({ ...on, commit: second })).toEqual(pushed);
    expect(await tipOf(scene, BRANCH)).toBe(second);
  });

  test('a commit that a person pushed in the meantime stays', async () => {
    await using scene = await setScene();
    const base = await since(scene);
    const first = await work(scene);
    const theirs = await personPushes(scene);
    expect(await scene.remote().pushOn({ branch: BRANCH, since: base, commit: first, at: base })).toMatchObject({
      kind: 'moved',
    });
    expect(await tipOf(scene, BRANCH)).toBe(theirs);
  });

  test('commits that hold what must not be published are not sent, whoever made them', async () => {
    await using scene = await setScene();
    const base = await since(scene);
    await openFresh(scene);
    const blob = await scene.quarantineGit('rev-parse', `${base}:README.md`);
    await scene.quarantineGit('update-index', '--add', '--cacheinfo', `100644,${blob},.github/workflows/ci.yml`);
    const tree = await scene.quarantineGit('write-tree');
    const forged = await scene.quarantineGit('commit-tree', tree, '-p', base, '-m', 'forged');
    expect(await scene.remote().pushOn({ branch: BRANCH, since: base, commit: forged, at: null })).toMatchObject({
      kind: 'rejected',
      why: expect.stringContaining('.github/workflows/ci.yml (it is a protected path') as string,
    });
    expect(await tipOf(scene, BRANCH)).toBe('none');
  });

  test('a push that is refused is tried in a way that leaves nothing behind', async () => {
    await using scene = await setScene();
    const base = await since(scene);
    await openFresh(scene);
    expect(await scene.remote().probePush(BRANCH, { at: base, since: base })).toEqual({ kind: 'pushed' });
    expect(await scene.serverGit('for-each-ref', '--format=%(refname)', 'refs/heads/ralph/')).toBe('');
    expect(await scene.remote({ token: READ_ONLY_TOKEN }).probePush(BRANCH, { at: base, since: base })).toMatchObject({
      kind: 'refused',
    });
  });
});
