import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { setServerRules, type ServerRule } from '../../../../testbed/server-rules.ts';
import { BRANCH, iterate, openFresh, setScene, type Scene } from '../git-fixture.ts';

const rules = (scene: Scene, ...all: readonly ServerRule[]): Promise<void> =>
  setServerRules(scene.server.repositoryFolder, all);

const tipOf = (scene: Scene, branch: string): Promise<string> => scene.serverGit('rev-parse', branch);

async function work(scene: Scene): Promise<string> {
  await openFresh(scene);
  return (await iterate(scene, () => scene.write('work.txt', 'work'))).committed.head;
}

/**
 * Obeys git's protocol for servers that keep branches themselves. In one file they can be below each other.
 */
const ACCEPTING_BELOW = `#!${process.execPath}
const { execFileSync } = require('node:child_process');
const { appendFileSync, existsSync, readFileSync, readSync, writeFileSync, writeSync } = require('node:fs');
const take = (length) => {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; ) at += readSync(0, bytes, at, length - at);
  return bytes.toString();
};
const read = () => {
  const lines = [];
  for (let length; (length = parseInt(take(4), 16)) > 0; ) lines.push(take(length - 4).trimEnd());
  return lines;
};
const write = (...lines) => {
  for (const line of lines) writeSync(1, (line.length + 4).toString(16).padStart(4, '0') + line);
  writeSync(1, '0000');
};
read();
write('version=1\\0atomic');
const commands = read().map((line) => line.split(' '));
if (existsSync('received') && existsSync('takes-nothing-back')) {
  write(...commands.map(([, , ref]) => 'ng ' + ref + ' no'));
  process.exit();
}
execFileSync('git', ['pack-refs', '--all', '--prune']);
const lines = readFileSync('packed-refs', 'utf8').split('\\n').filter((line) => /^[0-9a-f]/.test(line));
const refs = new Map(lines.map((line) => line.split(' ').reverse()));
for (const [, to, ref] of commands) {
  appendFileSync('received', ref + ' ' + to + '\\n');
  if (/^0+$/.test(to)) refs.delete(ref);
  else refs.set(ref, to);
}
writeFileSync('packed-refs', [...refs].map(([ref, to]) => to + ' ' + ref + '\\n').join(''));
write(...commands.map(([, , ref]) => 'ok ' + ref));
`;

describe("a server's refusal is detected before any work", () => {
  test.each<[string, ServerRule, RegExp]>([
    ['creation', { kind: 'creation' }, /forbids this token to create the branch/],
    ['signatures', { kind: 'signatures' }, /requires signed commits/],
    ['another author', { kind: 'author', pattern: '@corp[.]example$' }, /does not accept the author/],
  ])('%s: the obstacle is named, and nothing is left behind', async (_, rule, why) => {
    await using scene = await setScene();
    await rules(scene, rule);
    const refs = await scene.serverGit('for-each-ref');
    expect(await scene.remote().pushObstacle(BRANCH)).toEqual({
      kind: 'configuration',
      why: expect.stringMatching(why) as string,
    });
    expect(await scene.serverGit('for-each-ref')).toBe(refs);
  });

  test.each<[string, readonly ServerRule[]]>([
    ['no rule', []],
    ["an author rule that the run's author meets", [{ kind: 'author', pattern: '^ralph@example[.]com$' }]],
    ['no deletion', [{ kind: 'deletion' }]],
    ['a linear history', [{ kind: 'linear-history' }]],
    [
      'rules about content',
      [
        { kind: 'secret', text: 'token', namesFile: true },
        { kind: 'file-path', path: 'infra/*' },
      ],
    ],
    ['a rule about messages, which are those of the work', [{ kind: 'message', pattern: '^feat' }]],
  ])('%s: there is no obstacle, and no leftover', async (_, all) => {
    await using scene = await setScene();
    await rules(scene, ...all);
    const refs = await scene.serverGit('for-each-ref');
    expect(await scene.remote().pushObstacle(BRANCH)).toBeNull();
    expect(await scene.serverGit('for-each-ref')).toBe(refs);
  });

  test.each<[string, ServerRule, 'refused' | 'pushed']>([
    ['updates are forbidden', { kind: 'update' }, 'refused'],
    ['deletions are forbidden', { kind: 'deletion' }, 'pushed'],
    ["the run's own author is accepted", { kind: 'author', pattern: '^ralph@example' }, 'pushed'],
  ])('a branch that exists, %s: %s', async (_, rule, kind) => {
    await using scene = await setScene();
    await openFresh(scene);
    const base = await tipOf(scene, 'main');
    await scene.serverGit('branch', BRANCH, base);
    await rules(scene, rule);
    expect(await scene.remote().probePush(BRANCH, { at: base, since: base })).toMatchObject({ kind });
    expect(await scene.serverGit('for-each-ref', '--format=%(refname)', 'refs/heads/ralph/')).toBe(
      `refs/heads/${BRANCH}`,
    );
    expect(await tipOf(scene, BRANCH)).toBe(base);
  });

  /** Has the server accept a branch below another, as one may that does not keep branches as files. */
  async function acceptBelow(scene: Scene): Promise<void> {
    const hook = join(scene.server.repositoryFolder, 'hooks', 'proc-receive');
    await writeFile(hook, ACCEPTING_BELOW, { mode: 0o755 });
    await scene.serverGit('config', '--add', 'receive.procReceiveRefs', 'refs/heads');
  }

  test.each<[string, boolean]>([
    ['a new branch', false],
    ['a branch that exists', true],
  ])('a server that accepts a branch below another, %s: there is no leftover', async (_, exists) => {
    await using scene = await setScene();
    await openFresh(scene);
    const base = await tipOf(scene, 'main');
    if (exists) await scene.serverGit('branch', BRANCH, base);
    await acceptBelow(scene);
    const refs = await scene.serverGit('for-each-ref');
    expect(await scene.remote().probePush(BRANCH, { at: base, since: base })).toEqual({ kind: 'pushed' });
    if (!exists) expect(await scene.remote().pushObstacle(BRANCH)).toBeNull();
    expect(await scene.serverGit('for-each-ref')).toBe(refs);
    expect(await readFile(join(scene.server.repositoryFolder, 'received'), 'utf8')).toContain(`${BRANCH}/probe`);
  });

  test('a linear history refuses a merge of the base before it is made', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const base = await tipOf(scene, 'main');
    const { committed } = await iterate(scene, () => scene.write('a.txt', 'a'));
    const on = { branch: BRANCH, since: base, at: null, along: null };
    expect(await scene.remote().pushOn({ ...on, commit: committed.head })).toMatchObject({ kind: 'pushed' });
    const merge = { at: committed.head, base };
    expect(await scene.remote().probeMerge(BRANCH, merge)).toEqual({ kind: 'pushed' });
    await rules(scene, { kind: 'linear-history' });
    expect(await scene.remote().probeMerge(BRANCH, merge)).toMatchObject({ refusal: { rule: 'linear-history' } });
    expect(await tipOf(scene, BRANCH)).toBe(committed.head);
  });

  test('a server that keeps what a probe left: nothing is worked on, and people read what is left', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const base = await tipOf(scene, 'main');
    await acceptBelow(scene);
    await writeFile(join(scene.server.repositoryFolder, 'takes-nothing-back'), '');
    const why = expect.stringMatching(/^A check left the empty commit [0-9a-f]{40} on refs\/heads\//) as string;
    expect(await scene.remote().pushObstacle(BRANCH)).toEqual({ kind: 'configuration', why });
    await rm(join(scene.server.repositoryFolder, 'received'));
    expect(await scene.remote().probePush(`${BRANCH}-2`, { at: base, since: base })).toMatchObject({
      kind: 'rejected',
      why,
    });
  });

  test('branches above and below are listed with those under the prefix', async () => {
    await using scene = await setScene();
    const main = await tipOf(scene, 'main');
    await scene.serverGit('branch', 'ralph', 'main');
    expect(await scene.remote().branches('ralph/')).toEqual({ ralph: main });
    expect(await scene.remote().branches('ralph/queue')).toEqual({ ralph: main });
  });
});

describe('commits are made again without what the server refuses', () => {
  async function twoTasks(scene: Scene): Promise<{ readonly base: string; readonly commit: string }> {
    const base = await tipOf(scene, 'main');
    await openFresh(scene);
    const trailers = (task: string) => ({ 'Ralph-Task': task });
    await iterate(
      scene,
      () => scene.write('a.txt', 'a').then(() => scene.write('config.txt', 'token')),
      scene.repository,
      trailers('issue-1'),
    );
    const { committed } = await iterate(scene, () => scene.write('b.txt', 'b'), scene.repository, trailers('issue-2'));
    return { base, commit: committed.head };
  }

  test('the rest keeps its content, messages and order, and is taken', async () => {
    await using scene = await setScene();
    const { base, commit } = await twoTasks(scene);
    await rules(scene, { kind: 'secret', text: 'token', namesFile: true });
    const remote = scene.remote();
    const on = { branch: BRANCH, since: base, at: null, along: null };
    expect(await remote.pushOn({ ...on, commit })).toMatchObject({
      kind: 'refused',
      refusal: { kind: 'content', files: ['config.txt'] },
    });
    expect(await remote.pathsByTask({ commit, since: base })).toEqual([
      { task: 'issue-1', paths: ['a.txt', 'config.txt'] },
      { task: 'issue-2', paths: ['b.txt'] },
    ]);
    const remade = await remote.remakeCommitsWithout({ commit, since: base, paths: ['config.txt'] });
    expect(remade).toMatchObject({ tasks: ['issue-1'] });
    expect(await remote.pushOn({ ...on, commit: remade?.head ?? '' })).toMatchObject({ kind: 'pushed' });
    expect(await scene.serverGit('diff', '--name-only', `main..${BRANCH}`)).toBe('a.txt\nb.txt');
    expect(
      await scene.serverGit('log', '--format=%(trailers:key=Ralph-Task,valueonly,separator=%x20)', `main..${BRANCH}`),
    ).toBe('issue-2\nissue-1');
    await scene.serverGit('fsck', '--strict');
  });

  test('the work tree keeps the file, which is withheld until it holds something else', async () => {
    await using scene = await setScene();
    const { base, commit } = await twoTasks(scene);
    const remade = await scene.remote().remakeCommitsWithout({ commit, since: base, paths: ['config.txt'] });
    await scene.repository.takeHead({
      head: remade?.head ?? '',
      refused: [{ path: 'config.txt', why: 'the git server refused it', refusesAnyContent: false }],
      workTree: 'as-it-is',
    });
    expect(await scene.read('config.txt')).toBe('token');
    const idle = await iterate(scene, () => scene.write('c.txt', 'c'));
    expect(idle.committed.withheldNow).toEqual([{ path: 'config.txt', why: 'the git server refused it' }]);
    expect(idle.committed.publishedPaths).toEqual(['c.txt']);
    const mended = await iterate(scene, () => scene.write('config.txt', 'no secret'));
    expect(mended.committed).toMatchObject({ withheldNow: [], publishedPaths: ['config.txt'] });
  });

  test('a file that moved to a refused path stays where the base has it, until its new content is published', async () => {
    await using scene = await setScene();
    const old = Array.from({ length: 20 }, (_, line) => `setting ${String(line)}\n`).join('');
    await scene.write('old.txt', old);
    await scene.git('add', '.');
    await scene.git('commit', '--quiet', '-m', 'settings');
    await scene.serverGit('fetch', '--quiet', scene.folder, 'main:main', '--update-head-ok');
    const base = await tipOf(scene, 'main');
    await openFresh(scene);
    const move = async (from: string, to: string, text: string): Promise<void> => {
      await rm(join(scene.folder, from));
      await scene.write(to, text);
    };
    await iterate(scene, () => move('old.txt', 'middle.txt', `${old}token\n`));
    const { committed } = await iterate(scene, async () => {
      await move('middle.txt', 'new.txt', `${old}${'more\n'.repeat(9)}token\n`);
      await scene.write('b.txt', 'b');
    });
    const commits = { commit: committed.head, since: base };
    const remade = await scene.remote().remakeCommitsWithout({ ...commits, paths: ['new.txt'] });
    const [head, refused] = [remade?.head ?? '', { why: 'refused', refusesAnyContent: false }];
    await scene.repository.takeHead({ head, refused: [{ path: 'new.txt', ...refused }], workTree: 'as-it-is' });
    const idle = await iterate(scene, () => scene.write('c.txt', 'c'));
    expect(await scene.git('diff', '--name-status', base, idle.committed.head)).toBe('A\tb.txt\nA\tc.txt');
    expect(idle.committed.withheldNow).toEqual([
      { path: 'new.txt', why: 'refused' },
      { path: 'old.txt', why: 'it moved to new.txt, which is left out' },
    ]);
    const mended = await iterate(scene, () => scene.write('new.txt', old));
    expect(await scene.git('diff', '--name-status', '-M', base, mended.committed.head)).toContain('old.txt\tnew.txt');
  });

  test('a file that is set aside is gone from the work tree, even if it was rewritten unchanged', async () => {
    await using scene = await setScene();
    const { base } = await twoTasks(scene);
    await rm(join(scene.folder, 'config.txt'));
    await scene.write('config.txt', 'token');
    await scene.repository.takeHead({ head: base, refused: [], workTree: 'reset' });
    await expect(scene.read('config.txt')).rejects.toThrow('ENOENT');
    const next = await iterate(scene, () => scene.write('c.txt', 'c'));
    expect(next.committed.publishedPaths).toEqual(['c.txt']);
    expect(await scene.git('status', '--porcelain')).toBe('');
  });

  test('what a merge of the pushes of people changes comes into the work tree; withheld files stay there', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const [withheld, theirs] = ['.github/workflows/ci.yml', '.github/workflows/theirs.yml'];
    const { committed } = await iterate(scene, async () => {
      await scene.write('a.txt', 'a');
      for (const path of [withheld, theirs]) await scene.write(path, 'mine');
    });
    expect(committed.withheldNow.map(({ path }) => path)).toEqual([withheld, theirs]);
    const readme = await scene.quarantineGit('rev-parse', `${committed.head}:README.md`);
    await scene.quarantineGit('read-tree', committed.head);
    await scene.quarantineGit('update-index', '--add', '--cacheinfo', `100644,${readme},${theirs}`);
    await scene.quarantineGit('update-index', '--force-remove', 'README.md');
    const tree = await scene.quarantineGit('write-tree');
    const head = await scene.quarantineGit('commit-tree', tree, '-p', committed.head, '-m', 'merge');
    await scene.repository.takeHead({ head, refused: [], workTree: 'updated' });
    expect(await scene.read(withheld)).toBe('mine');
    expect(await scene.read(theirs)).not.toBe('mine');
    await expect(scene.read('README.md')).rejects.toThrow('ENOENT');
    const next = await iterate(scene, () => scene.write('c.txt', 'c'));
    expect(next.committed.withheldNow.map(({ path }) => path)).toEqual([withheld]);
    expect(next.committed.publishedPaths).toEqual(['c.txt']);
  });
});

describe('a merged branch that may not be deleted', () => {
  test.each(['merged', 'squashed'] as const)('%s: the lane begins on it, with what the base holds', async (how) => {
    await using scene = await setScene();
    const head = await work(scene);
    await scene.remote().push({ branch: BRANCH, commit: head, start: { kind: 'fresh' } });
    if (how === 'merged') await scene.serverGit('update-ref', 'refs/heads/main', head);
    else await scene.server.commitByHand('main', { 'squashed.txt': 'x' });
    await rules(scene, { kind: 'deletion' });
    const remote = scene.remote();
    expect(await remote.deleteBranch({ branch: BRANCH, head })).toMatchObject({
      kind: 'refused',
      refusal: { rule: 'deletion' },
    });
    const repository = scene.reopen({}, scene.checkout, '', true);
    const opened = await repository.openLane({
      branch: BRANCH,
      baseBranch: 'main',
      start: { kind: 'reuse', mergedHead: head },
    });
    const at = { branch: BRANCH, commit: opened.head, since: opened.head, at: head, along: null };
    expect(await remote.pushOn(at)).toMatchObject({ kind: 'pushed' });
    expect(await scene.serverGit('diff', '--name-only', `main...${BRANCH}`)).toBe('');
    expect(await scene.serverGit('merge-base', '--is-ancestor', head, BRANCH)).toBe('');
    expect((await repository.review())?.lines).toBe(0);
    const isSignedOff = (await scene.serverGit('log', '-1', '--format=%B', BRANCH)).includes('\nSigned-off-by: ralph');
    expect(isSignedOff).toBe(how === 'squashed');
  });
});
