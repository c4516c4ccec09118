import { readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BRANCH, reachByFolder } from '../git-fixture.ts';
import { edit, openAgain, resolve, setConflict, type Conflict, type Edit } from './merge-fixture.ts';

reachByFolder();

const LINES = (middle: string): string => `one\ntwo\n${middle}\nfour\nfive\n`;
const MARKED = LINES('<<<<<<< ralph/queue\nlane\n=======\nbase\n>>>>>>> main');
const TEXT = {
  first: { 'a.txt': LINES('three'), 'b.txt': 'b\n', 'lib/x.txt': 'x\n' },
  lane: { 'a.txt': LINES('lane'), 'own.txt': 'own\n' },
  base: { 'a.txt': LINES('base'), 'b.txt': 'b of the base\n', 'new/y.txt': 'y\n' },
};

/** Returns the paths that the commit changed against a parent: `1` is the lane, `2` the base. */
async function changedIn({ scene }: Conflict, parent: 1 | 2): Promise<readonly string[]> {
  const names = await scene.git('diff', '--name-only', '--no-renames', `${BRANCH}^${String(parent)}`, BRANCH);
  return names.split('\n').filter((name) => name !== '');
}

describe('a merge is laid in the work tree', () => {
  test('with markers where it conflicts, with all that does not, and without a commit', async () => {
    await using conflict = await setConflict(TEXT);
    const { scene, repository, head } = conflict;
    expect(await repository.beginMerge()).toEqual({ kind: 'begun', conflicts: ['a.txt'], lockFiles: [] });
    expect(await scene.read('a.txt')).toBe(MARKED);
    expect(await scene.read('b.txt')).toBe('b of the base\n');
    expect(await scene.read('new/y.txt')).toBe('y\n');
    expect(await scene.read('own.txt')).toBe('own\n');
    expect(await scene.git('rev-parse', 'HEAD')).toBe(head);
    // Changes of the base do not count as work.
    const before = await repository.snapshot();
    expect(await repository.compare(before, await repository.snapshot())).toMatchObject({ fileCount: 0 });
  });

  test('once: the second time it is there already, and after its commit the lane is up to date', async () => {
    await using conflict = await setConflict(TEXT);
    const { scene, repository } = conflict;
    const begun = await repository.beginMerge();
    expect(await repository.beginMerge()).toEqual(begun);
    await resolve(conflict, () => scene.write('a.txt', LINES('both')));
    expect(await repository.beginMerge()).toEqual({ kind: 'up-to-date' });
  });

  test('and not where the lane has all of the base branch', async () => {
    await using conflict = await setConflict({ ...TEXT, base: { 'b.txt': 'b\nmore\n' } });
    const { scene, head } = conflict;
    await scene.serverGit('update-ref', 'refs/heads/main', `${head}~1`);
    const repository = await openAgain(scene, head);
    expect(await repository.beginMerge()).toEqual({ kind: 'up-to-date' });
  });

  test('files that git ignores or does not know stay', async () => {
    await using conflict = await setConflict({ ...TEXT, first: { ...TEXT.first, '.gitignore': 'cache/\n' } });
    const { scene, repository } = conflict;
    await edit(scene, { 'cache/c.txt': 'ignored\n', 'note.txt': 'not committed yet\n' });
    await repository.beginMerge();
    expect(await scene.read('cache/c.txt')).toBe('ignored\n');
    expect(await scene.read('note.txt')).toBe('not committed yet\n');
  });

  test.each<[string, { first: Edit; lane: Edit; base: Edit }, { conflicts: readonly string[]; files: Edit }]>([
    [
      'a binary file: the one of the base',
      { first: { x: Buffer.from('a\0b') }, lane: { x: Buffer.from('a\0lane') }, base: { x: Buffer.from('a\0base') } },
      { conflicts: ['x'], files: { x: 'a\0base' } },
    ],
    [
      'a file that the base removed: the changed one',
      { first: { x: 'x\n' }, lane: { x: 'lane\n' }, base: { x: null } },
      { conflicts: ['x'], files: { x: 'lane\n' } },
    ],
    [
      'a file that the lane removed: the changed one',
      { first: { x: 'x\n' }, lane: { x: null }, base: { x: 'base\n' } },
      { conflicts: ['x'], files: { x: 'base\n' } },
    ],
    [
      'a folder that the base removed: what the lane changed in it',
      { first: { 'd/x': 'x\n', 'd/y': 'y\n' }, lane: { 'd/x': 'lane\n' }, base: { d: null } },
      { conflicts: ['d/x'], files: { 'd/x': 'lane\n', 'd/y': null } },
    ],
    [
      'a file that both gave another name: both names',
      { first: { x: LINES('x') }, lane: { x: null, y: LINES('x') }, base: { x: null, z: LINES('x') } },
      { conflicts: ['y', 'z'], files: { x: null, y: LINES('x'), z: LINES('x') } },
    ],
    [
      'a file and a folder of one name: the file stands beside it',
      { first: { other: 'o\n' }, lane: { x: 'lane\n' }, base: { 'x/y': 'base\n' } },
      { conflicts: ['x~ralph_queue'], files: { 'x/y': 'base\n', 'x~ralph_queue': 'lane\n' } },
    ],
    [
      'a link that both changed: the one of the base',
      {
        first: { lane: 'lane\n', base: 'base\n', x: { link: 'lane' } },
        lane: { x: { link: './lane' } },
        base: { x: { link: 'base' } },
      },
      { conflicts: ['x'], files: { x: 'base\n' } },
    ],
    [
      'a file that one side made a link: both stand beside each other',
      { first: { o: 'o\n', x: 'x\n' }, lane: { x: 'lane\n' }, base: { x: { link: 'o' } } },
      { conflicts: ['x', 'x~ralph_queue'], files: { x: 'o\n', 'x~ralph_queue': 'lane\n' } },
    ],
    [
      'a file that both added',
      { first: { other: 'o\n' }, lane: { x: 'lane\n' }, base: { x: 'base\n' } },
      { conflicts: ['x'], files: { x: '<<<<<<< ralph/queue\nlane\n=======\nbase\n>>>>>>> main\n' } },
    ],
    [
      'a file that the lane gave another name, with what the base changed in it',
      { first: { x: LINES('x') }, lane: { x: null, 'd/x': LINES('lane') }, base: { x: LINES('base') } },
      {
        conflicts: ['d/x'],
        files: { x: null, 'd/x': LINES('<<<<<<< ralph/queue:d/x\nlane\n=======\nbase\n>>>>>>> main:x') },
      },
    ],
  ])('%s', async (_name, sides, { conflicts, files }) => {
    await using conflict = await setConflict(sides);
    const { scene, repository } = conflict;
    expect(await repository.beginMerge()).toEqual({ kind: 'begun', conflicts, lockFiles: [] });
    for (const [path, content] of Object.entries(files)) {
      const there = await readFile(join(scene.folder, path), 'utf8').catch(() => null);
      expect([path, there]).toEqual([path, content]);
    }
  });

  test('lock files that conflict are as the base has them', async () => {
    await using conflict = await setConflict({
      first: { 'package-lock.json': '{"a":1}\n' },
      lane: { 'package-lock.json': '{"a":1,"lane":1}\n' },
      base: { 'package-lock.json': '{"a":1,"base":1}\n' },
    });
    const { scene, repository } = conflict;
    expect(await repository.beginMerge()).toEqual({ kind: 'begun', conflicts: [], lockFiles: ['package-lock.json'] });
    expect(await scene.read('package-lock.json')).toBe('{"a":1,"base":1}\n');
    const { committed } = await resolve(conflict, () => Promise.resolve());
    expect(committed).toMatchObject({ merge: 'made', withheld: [] });
  });

  test('a plan that only grew and was ticked is merged by its tasks, so that nothing is left to resolve', async () => {
    const plan = '.ralph/fix_plan.md';
    const sides = {
      first: { [plan]: '# Plan\n\n- [x] a\n- [ ] b\n' },
      lane: { [plan]: '# Plan\n\n- [x] a\n- [x] b\n', 'b.txt': 'b\n' },
      base: { [plan]: '# Plan\n\n- [x] a\n- [ ] b\n- [ ] New\n' },
    };
    await using conflict = await setConflict(sides);
    const { scene, repository, head, base } = conflict;
    expect(await repository.beginMerge()).toEqual({ kind: 'begun', conflicts: [], lockFiles: [] });
    expect(await scene.read(plan)).toBe('# Plan\n\n- [x] a\n- [x] b\n- [ ] New\n');
    const { committed } = await resolve(conflict, () => Promise.resolve());
    expect(committed).toMatchObject({ merge: 'made', withheld: [] });
    expect(await scene.git('log', '-1', '--format=%P', BRANCH)).toBe(`${head} ${base}`);
    // A person may now merge the branch without a conflict.
    expect(await scene.git('merge-tree', '--write-tree', base, BRANCH)).toBe(
      await scene.git('rev-parse', `${BRANCH}^{tree}`),
    );
  });

  test.each<[string, string, { first: string | null; lane: string; base: string }]>([
    ['that one side rewrote', '.ralph/fix_plan.md', { first: '- [ ] a\n', lane: '- [x] a\n', base: '- [ ] A\n' }],
    ['that both sides began', '.ralph/fix_plan.md', { first: null, lane: '- [x] a\n', base: '- [ ] b\n' }],
    [
      'of another folder',
      'web/.ralph/fix_plan.md',
      { first: '- [ ] a\n', lane: '- [x] a\n', base: '- [ ] a\n- [ ] b\n' },
    ],
  ])('a plan %s has markers', async (_what, plan, { first, lane, base }) => {
    const sides = { first: { 'a.txt': 'a\n', ...(first === null ? {} : { [plan]: first }) } };
    await using conflict = await setConflict({ ...sides, lane: { [plan]: lane }, base: { [plan]: base } });
    expect(await conflict.repository.beginMerge()).toEqual({ kind: 'begun', conflicts: [plan], lockFiles: [] });
    expect(await conflict.scene.read(plan)).toContain('<<<<<<< ralph/queue\n');
  });

  test('a branch may be called like a file of git', async () => {
    await using conflict = await setConflict(TEXT);
    const { scene, head, base } = conflict;
    await scene.serverGit('branch', 'shallow', base);
    await conflict.repository.leave();
    const repository = scene.reopen();
    await repository.openLane({ branch: BRANCH, baseBranch: 'shallow', start: { kind: 'continue', remoteHead: head } });
    expect(await repository.beginMerge()).toMatchObject({ conflicts: ['a.txt'] });
    expect(await scene.read('a.txt')).toMatch(/^<<<<<<< .*ralph\/queue\nlane\n=======\nbase\n>>>>>>> .*shallow$/m);
  });

  test('a commit of texts in the meantime is part of the merge', async () => {
    await using conflict = await setConflict(TEXT);
    const { scene, repository, base } = conflict;
    await repository.beginMerge();
    const { head } = await repository.commitTexts({
      texts: { 'own.txt': 'marked\n' },
      message: 'Mark it',
      trailers: {},
    });
    await scene.write('own.txt', 'marked\n');
    const { committed, change } = await resolve(conflict, () => scene.write('a.txt', LINES('both')));
    expect(change.files).toEqual(['a.txt']);
    expect(committed).toMatchObject({ merge: 'made', withheld: [] });
    expect(await scene.git('log', '-1', '--format=%P', BRANCH)).toBe(`${head} ${base}`);
    expect(await scene.git('show', `${BRANCH}:own.txt`)).toBe('marked');
  });

  test('a commit that was signed in the meantime, with the same content, is what the merge builds on', async () => {
    await using conflict = await setConflict(TEXT);
    const { scene, repository, base, head: start } = conflict;
    await repository.beginMerge();
    const texts = { 'own.txt': 'marked\n' };
    const { head } = await repository.commitTexts({ texts, message: 'Mark it', trailers: {} });
    const signed = await scene.quarantineGit('commit-tree', `${head}^{tree}`, '-p', start, '-m', 'Mark it, signed');
    await repository.takeHead({ head: signed, refused: [], workTree: 'as-it-is' });
    await scene.write('own.txt', 'marked\n');
    const { committed } = await resolve(conflict, () => scene.write('a.txt', LINES('both')));
    expect(committed).toMatchObject({ merge: 'made', withheld: [] });
    expect(await scene.git('log', '-1', '--format=%P', BRANCH)).toBe(`${signed} ${base}`);
  });

  test('attributes of the repository name no driver', async () => {
    await using conflict = await setConflict({
      ...TEXT,
      first: { ...TEXT.first, '.gitattributes': '*.txt merge=evil\n' },
    });
    const { scene, repository } = conflict;
    await scene.git('config', 'merge.evil.driver', 'touch ran %A');
    expect(await repository.beginMerge()).toMatchObject({ conflicts: ['a.txt'] });
    await expect(scene.read('ran')).rejects.toThrow('ENOENT');
  });
});

describe('its commit waits until it is resolved', () => {
  test('then it has both parents, our words and the resolution', async () => {
    await using conflict = await setConflict(TEXT);
    const { scene, repository, head, base } = conflict;
    await repository.beginMerge();
    const { committed, change } = await resolve(conflict, () => scene.write('a.txt', LINES('lane and base')));
    expect(change).toMatchObject({ files: ['a.txt'] });
    expect(committed).toMatchObject({ merge: 'made', withheld: [], withheldNow: [], commit: committed.head });
    expect(await scene.git('log', '-1', '--format=%P|%an|%s|%(trailers:key=Ralph-Task,valueonly)', BRANCH)).toBe(
      `${head} ${base}|ralph|Add a feature|conflict-base\n`.trimEnd(),
    );
    expect(await changedIn(conflict, 2)).toEqual(['a.txt', 'own.txt']);
    expect(await scene.git('status', '--porcelain')).toBe('');
    // The review shows the lane's changes only, without those of the base.
    expect(await repository.review()).toMatchObject({ lines: 3, sizes: {} });
  });

  test('files that still have markers are named, and nothing is committed', async () => {
    const both = { 'a.txt': LINES('three'), 'c.txt': LINES('three') };
    await using conflict = await setConflict({
      first: both,
      lane: { 'a.txt': LINES('lane'), 'c.txt': LINES('lane') },
      base: { 'a.txt': LINES('base'), 'c.txt': LINES('base') },
    });
    const { scene, repository, head } = conflict;
    await repository.beginMerge();
    const half = await resolve(conflict, () => scene.write('a.txt', LINES('both')));
    const still = { path: 'c.txt', why: 'it still has conflict markers' };
    expect(half.committed).toMatchObject({
      merge: 'open',
      head,
      commit: null,
      withheld: [still],
      withheldNow: [still],
      publishedPaths: [],
    });
    expect(half.change.files).toEqual(['a.txt']);
    expect(await scene.git('rev-parse', BRANCH)).toBe(head);
    const rest = await resolve(conflict, () => scene.write('c.txt', LINES('both')));
    expect(rest.committed).toMatchObject({ merge: 'made', withheld: [] });
    expect(await changedIn(conflict, 1)).toEqual(['a.txt', 'c.txt']);
  });

  test.each([
    ['its last line alone', LINES('both\n>>>>>>> main')],
    ['its middle alone', LINES('lane\n=======\nbase')],
  ])('a marker is one with %s', async (_name, left) => {
    await using conflict = await setConflict(TEXT);
    await conflict.repository.beginMerge();
    const { committed } = await resolve(conflict, () => conflict.scene.write('a.txt', left));
    expect(committed).toMatchObject({ merge: 'open' });
  });

  test('a marker in another file waits as well, unless a side has it', async () => {
    const manual = 'Git writes:\n<<<<<<< ours\n=======\n>>>>>>> theirs\n';
    await using conflict = await setConflict({ ...TEXT, first: { ...TEXT.first, 'git.md': manual } });
    const { scene, repository } = conflict;
    await repository.beginMerge();
    await scene.write('a.txt', LINES('both'));
    const moved = await resolve(conflict, () => edit(scene, { 'git.md': `# Git\n${manual}`, 'b.txt': MARKED }));
    expect(moved.committed.withheldNow).toEqual([{ path: 'b.txt', why: 'it still has conflict markers' }]);
    const { committed } = await resolve(conflict, () => scene.write('b.txt', 'b of the base\n'));
    expect(committed.merge).toBe('made');
  });

  test.each<[string, Edit, Edit, readonly string[]]>([
    ['a folder', { o: 'o\n' }, { 'x/y': 'base\n' }, ['lane', 'x', 'x/y']],
    ['a link', { o: 'o\n', x: 'x\n' }, { x: { link: 'o' } }, ['lane', 'x']],
  ])('a file that stands beside %s waits for a name', async (_name, first, moved, changed) => {
    await using conflict = await setConflict({ first, lane: { x: 'lane\n' }, base: moved });
    const { scene, repository } = conflict;
    await repository.beginMerge();
    const left = await resolve(conflict, () => Promise.resolve());
    expect(left.committed.withheldNow).toEqual([
      {
        path: 'x~ralph_queue',
        why: expect.stringContaining('each branch has something different at its path: rename it') as string,
      },
    ]);
    const { committed } = await resolve(conflict, () => edit(scene, { 'x~ralph_queue': null, lane: 'lane\n' }));
    expect(committed.merge).toBe('made');
    expect(await changedIn(conflict, 1)).toEqual(changed);
  });
});

describe('an agent does what it likes with its git', () => {
  test('its commits are folded into the merge', async () => {
    await using conflict = await setConflict(TEXT);
    const { scene, repository, head, base } = conflict;
    await repository.beginMerge();
    const { committed } = await resolve(conflict, async () => {
      await scene.write('a.txt', LINES('both'));
      await scene.git('add', '--all');
      await scene.git('commit', '--quiet', '-m', 'my merge');
    });
    expect(committed.merge).toBe('made');
    expect(await scene.git('log', '-1', '--format=%P', BRANCH)).toBe(`${head} ${base}`);
    expect(await scene.git('log', '-1', '--format=%b', BRANCH)).toContain('- my merge');
  });

  test('a commit of it before the merge is resolved is undone, and its files stay', async () => {
    await using conflict = await setConflict(TEXT);
    const { scene, repository, head } = conflict;
    await repository.beginMerge();
    const { committed } = await resolve(conflict, async () => {
      await scene.git('add', '--all');
      await scene.git('commit', '--quiet', '-m', 'done');
    });
    expect(committed).toMatchObject({ merge: 'open', commit: null });
    expect(await scene.git('rev-parse', 'HEAD')).toBe(head);
    expect(await scene.read('a.txt')).toBe(MARKED);
  });

  test.each<[string, readonly string[]]>([
    ['git reset --hard', ['reset', '--quiet', '--hard']],
    ['git checkout .', ['checkout', '--quiet', '--force', 'HEAD', '--', '.']],
  ])('%s does not make a merge of nothing: it is laid once more', async (_name, how) => {
    await using conflict = await setConflict(TEXT);
    const { scene, repository } = conflict;
    await repository.beginMerge();
    const { committed } = await resolve(conflict, () => scene.git(...how));
    expect(committed).toMatchObject({ merge: 'open', commit: null });
    expect(committed.withheldNow.map(({ path }) => path)).toContain('b.txt');
    expect(await scene.read('a.txt')).toBe(MARKED);
    expect(await scene.read('b.txt')).toBe('b of the base\n');
    const { committed: made } = await resolve(conflict, () => scene.write('a.txt', LINES('both')));
    expect(made.merge).toBe('made');
    expect(await changedIn(conflict, 2)).toEqual(['a.txt', 'own.txt']);
  });

  test('a merge that is given up leaves the work tree as it was', async () => {
    await using conflict = await setConflict(TEXT);
    const { scene, repository, head } = conflict;
    await repository.beginMerge();
    await resolve(conflict, () => edit(scene, { 'b.txt': 'half\n', 'more.txt': 'more\n' }));
    await repository.abandonMerge();
    expect(await scene.git('status', '--porcelain')).toBe('');
    expect(await scene.read('a.txt')).toBe(LINES('lane'));
    const { committed } = await resolve(conflict, () => scene.write('own.txt', 'own, and more\n'));
    expect(committed).toMatchObject({ merge: 'none', withheld: [] });
    expect(await scene.git('log', '-1', '--format=%P', BRANCH)).toBe(head);
  });

  test('the next run begins again where one was killed', async () => {
    await using conflict = await setConflict(TEXT);
    const { scene, repository, head } = conflict;
    await repository.beginMerge();
    const next = await openAgain(scene, head);
    expect(await next.beginMerge()).toMatchObject({ kind: 'begun', conflicts: ['a.txt'] });
  });
});

describe('files that a merge must not publish', () => {
  const protectedSides = {
    first: { ...TEXT.first, '.github/workflows/ci.yml': 'on: push\n' },
    lane: TEXT.lane,
    base: { ...TEXT.base, '.github/workflows/ci.yml': 'on: pull_request\n', '.github/CODEOWNERS': '* @ada\n' },
  };

  test('what the base changed in protected paths is part of the merge', async () => {
    await using conflict = await setConflict(protectedSides, { maxPatchFiles: 2 });
    const { scene, repository } = conflict;
    await repository.beginMerge();
    const { committed } = await resolve(conflict, () => scene.write('a.txt', LINES('both')));
    expect(committed).toMatchObject({ merge: 'made', withheld: [], lookAt: [] });
    expect(await changedIn(conflict, 2)).toEqual(['a.txt', 'own.txt']);
  });

  test.each<[string, string | null]>([
    ['another content', 'on: evil\n'],
    ['the one that the lane still had', 'on: push\n'],
    ['nothing', null],
  ])('an agent that leaves %s at a protected path does not get it in', async (_name, content) => {
    await using conflict = await setConflict(protectedSides);
    const { scene, repository } = conflict;
    await repository.beginMerge();
    const { committed } = await resolve(conflict, () =>
      edit(scene, { 'a.txt': LINES('both'), '.github/workflows/ci.yml': content }),
    );
    expect(committed).toMatchObject({ merge: 'made', withheld: [{ path: '.github/workflows/ci.yml' }] });
    expect(await scene.git('show', `${BRANCH}:.github/workflows/ci.yml`)).toBe('on: pull_request');
    expect(await changedIn(conflict, 2)).toEqual(['a.txt', 'own.txt']);
  });

  test('a conflict at a protected path takes the version of the base', async () => {
    const allowed = { allowProtectedPaths: ['.github/**'] };
    await using conflict = await setConflict(
      { ...protectedSides, lane: { ...TEXT.lane, '.github/workflows/ci.yml': 'on: lane\n', '.github/x.yml': 'x\n' } },
      allowed,
    );
    const { scene, head } = conflict;
    // The next run is no longer allowed to do this.
    await conflict.repository.leave();
    const repository = await openAgain(scene, head, { allowProtectedPaths: [] });
    expect(await repository.beginMerge()).toMatchObject({ conflicts: ['a.txt'] });
    const { committed } = await resolve({ scene, repository }, () => scene.write('a.txt', LINES('both')));
    expect(committed).toMatchObject({ merge: 'made', withheld: [] });
    expect(await scene.git('show', `${BRANCH}:.github/workflows/ci.yml`)).toBe('on: pull_request');
    // A file that only the lane changed is kept.
    expect(await scene.git('show', `${BRANCH}:.github/x.yml`)).toBe('x');
  });

  test('a file with a secret in its resolution keeps the version of the base', async () => {
    await using conflict = await setConflict(TEXT, { secretValues: () => ['correct-horse-battery-staple'] });
    const { scene, repository } = conflict;
    await repository.beginMerge();
    const { committed } = await resolve(conflict, () =>
      scene.write('a.txt', LINES('key: correct-horse-battery-staple')),
    );
    expect(committed).toMatchObject({ merge: 'made', withheld: [{ path: 'a.txt' }] });
    expect(await scene.git('show', `${BRANCH}:a.txt`)).toBe(LINES('base').trimEnd());
  });

  test('a key that the base has had for long does not count as a secret here', async () => {
    const key = `npm_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8`;
    await using conflict = await setConflict({
      ...TEXT,
      base: { ...TEXT.base, 'a.txt': LINES(key), 'k.txt': `${key}\n` },
    });
    const { scene, repository } = conflict;
    await repository.beginMerge();
    const { committed } = await resolve(conflict, () => scene.write('a.txt', LINES(`lane\n${key}`)));
    expect(committed).toMatchObject({ merge: 'made', withheld: [] });
  });

  test('a file that was withheld before stays withheld, in the work tree and out of the branch', async () => {
    await using conflict = await setConflict(protectedSides);
    const { scene, repository } = conflict;
    const before = await resolve(conflict, () => scene.write('.github/workflows/own.yml', 'on: evil\n'));
    expect(before.committed.withheldNow).toHaveLength(1);
    await repository.beginMerge();
    const { committed } = await resolve(conflict, () => scene.write('a.txt', LINES('both')));
    expect(committed).toMatchObject({
      merge: 'made',
      withheld: [],
      withheldNow: [{ path: '.github/workflows/own.yml' }],
    });
    expect(await scene.read('.github/workflows/own.yml')).toBe('on: evil\n');
    expect(await changedIn(conflict, 2)).toEqual(['a.txt', 'own.txt']);
  });

  test('a link that leads out stays out', async () => {
    await using conflict = await setConflict(TEXT);
    const { scene, repository } = conflict;
    await repository.beginMerge();
    const { committed } = await resolve(conflict, async () => {
      await scene.write('a.txt', LINES('both'));
      await symlink('/etc/passwd', join(scene.folder, 'out'));
    });
    expect(committed).toMatchObject({ merge: 'made', withheld: [{ path: 'out' }] });
  });
});
