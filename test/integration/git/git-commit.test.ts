import { chmod, mkdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { BRANCH, iterate, messageFor, openFresh, reachByFolder, setScene, TOKEN, type Scene } from './git-fixture.ts';

reachByFolder();

const SECRET = 'correct-horse-battery-staple';
const NPM_TOKEN = `npm_${'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'.slice(0, 36)}`;

/** Makes the agent's own commit of one new file. */
async function commitFile(
  scene: Scene,
  path: string,
  message: string,
  ...options: readonly string[]
): Promise<unknown> {
  await scene.write(path, `${path}\n`);
  await scene.git('add', '.');
  return await scene.git('commit', '--quiet', ...options, '-m', message);
}

/** Returns everything of the lane that a push would publish, as text. */
async function published(scene: Scene): Promise<string> {
  return await scene.git('log', '--patch', '--binary', '--format=%H %s%n%b', `main..${BRANCH}`);
}

describe('commit() takes what the agent left and the contents of what it committed', () => {
  test('leftovers become one commit with the message, the trailers and the identity', async () => {
    await using scene = await setScene();
    const { head: start } = await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.write('src/new.js', '// new\n');
      await rm(join(scene.folder, 'README.md'));
    });
    expect(committed).toMatchObject({
      head: await scene.git('rev-parse', BRANCH),
      commit: committed.head,
      withheld: [],
      withheldNow: [],
      published: { tree: await scene.git('rev-parse', `${BRANCH}^{tree}`) },
    });
    expect(await scene.git('log', '-1', '--format=%P|%an <%ae>|%cn|%B', committed.head)).toBe(
      `${start}|ralph <ralph@example.com>|ralph|Add a feature\n\nRalph-Iteration: 1`,
    );
    expect(await scene.git('show', '--format=', '--name-status', committed.head)).toBe('D\tREADME.md\nA\tsrc/new.js');
    expect(await scene.git('status', '--porcelain')).toBe('');
    expect(await scene.git('symbolic-ref', '--short', 'HEAD')).toBe(BRANCH);
  });

  test("the agent's notes are committed, though they do not count as changed content", async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed, change } = await iterate(scene, async () =>
      scene.write('.ralph/learnings.md', 'The tests need port 80.\n'),
    );
    expect(change.fileCount).toBe(0);
    expect(await scene.git('show', '--format=', '--name-status', committed.head)).toBe('A\t.ralph/learnings.md');
  });

  test('a withheld file does not count as a change in this iteration or the next, is named while it exists, and is withheld again when it changes', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const before = await scene.repository.snapshot();
    await scene.write('.github/workflows/ci.yml', 'on: push\n');
    const first = await scene.repository.commit(messageFor(before, await scene.repository.snapshot()));
    expect(first).toMatchObject({
      commit: null,
      withheldNow: [{ path: '.github/workflows/ci.yml' }],
      published: { tree: before.tree },
    });
    const again = await scene.repository.snapshot();
    expect(again.tree).toBe(before.tree);
    await scene.write('src/real.js', '// real\n');
    const second = await scene.repository.commit(messageFor(again, await scene.repository.snapshot()));
    expect(second).toMatchObject({ withheld: [], withheldNow: [{ path: '.github/workflows/ci.yml' }] });
    expect(second.published.tree).toBe(await scene.git('rev-parse', `${BRANCH}^{tree}`));
    await scene.write('.github/workflows/ci.yml', 'on: pull_request\n');
    const changed = await scene.repository.commit(messageFor(second.published, await scene.repository.snapshot()));
    expect(changed).toMatchObject({ commit: null, withheld: [{ path: '.github/workflows/ci.yml' }] });
    await rm(join(scene.folder, '.github'), { recursive: true });
    const gone = await scene.repository.commit(messageFor(changed.published, await scene.repository.snapshot()));
    expect(gone).toMatchObject({ commit: null, withheld: [], withheldNow: [] });
  });

  test('nothing changed: no commit', async () => {
    await using scene = await setScene();
    const { head } = await openFresh(scene);
    const { committed } = await iterate(scene, async () => undefined);
    expect(committed).toMatchObject({ head, commit: null, withheld: [], withheldNow: [] });
  });

  test('commits of the agent are made again with our author and trailers, leftovers go on top', async () => {
    await using scene = await setScene();
    const { head: start } = await openFresh(scene);
    let own = '';
    const { committed, change } = await iterate(scene, async () => {
      await commitFile(scene, 'a.txt', 'mine');
      await commitFile(scene, 'c.txt', 'mine as well');
      own = await scene.git('rev-parse', 'HEAD');
      await scene.write('b.txt', 'b');
    });
    expect(change).toMatchObject({ files: ['a.txt', 'b.txt', 'c.txt'], agentCommits: 2 });
    expect(
      await scene.git(
        'log',
        '--format=%an <%ae> %cn %s (%(trailers:key=Ralph-Iteration,separator=%x2C))',
        `main..${BRANCH}`,
      ),
    ).toBe(
      [
        'ralph <ralph@example.com> ralph Add a feature (Ralph-Iteration: 1)',
        'ralph <ralph@example.com> ralph mine as well (Ralph-Iteration: 1)',
        'ralph <ralph@example.com> ralph mine (Ralph-Iteration: 1)',
      ].join('\n'),
    );
    expect(await scene.git('rev-parse', `${committed.head}~1^{tree}`)).toBe(
      await scene.git('rev-parse', `${own}^{tree}`),
    );
    expect(await scene.git('rev-parse', `${committed.head}~3`)).toBe(start);
    expect(await scene.git('log', '--format=%H', BRANCH)).not.toContain(own);
  });

  test('an empty commit of the agent vanishes', async () => {
    await using scene = await setScene();
    const { head } = await openFresh(scene);
    const { committed } = await iterate(scene, () =>
      scene.git('commit', '--quiet', '--allow-empty', '-m', 'Fixes #2 [skip ci]'),
    );
    expect(committed).toMatchObject({ head, commit: null, withheld: [] });
    expect(await scene.git('rev-parse', BRANCH)).toBe(head);
  });

  test.each([
    ['words for CI', 'Add a [skip ci]\n\n***NO_CI***\n\n\nskip-checks: true'],
    ['references', 'Fixes #2\n\nCloses owner/repo#3, GH-4 and https://github.com/a/b/issues/5 for @octocat'],
    [
      'trailers',
      'Add a\n\nRalph-Run: 9\nRalph-Task: other\nSigned-off-by: Boss <boss@example.com>\nCo-authored-by: B <b@c>',
    ],
    ['trailers before a divider', 'Add a\n\nforged: 1\n---\n more'],
    ['trailers before scissors', 'Add a\n\nforged: 1\n# ------------------------ >8 ------------------------\n'],
  ])("%s in the agent's message leave nothing behind", async (_, message) => {
    await using scene = await setScene();
    await openFresh(scene);
    await iterate(scene, () => commitFile(scene, 'a.txt', message, '--author=Linus <torvalds@example.com>'));
    expect(await scene.git('log', '-1', '--format=%an %ae %cn %ce', BRANCH)).toBe(
      'ralph ralph@example.com ralph ralph@example.com',
    );
    expect(await scene.git('log', '-1', '--format=%B', BRANCH)).not.toMatch(
      /\[skip ci\]|\*NO_CI|skip-checks|#\d|gh-\d|:\/\/|@\w|boss|forged/i,
    );
    expect(await scene.git('log', '-1', '--format=%(trailers)', BRANCH)).toBe('Ralph-Iteration: 1');
    const parsed = await scene.git('-c', 'alias.t=!git log -1 --format=%B | git interpret-trailers --parse', 't');
    expect(parsed).toBe('Ralph-Iteration: 1');
  });

  test('a commit without words gets ours', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    await iterate(scene, () => commitFile(scene, 'a.txt', '', '--allow-empty-message'));
    expect(await scene.git('log', '-1', '--format=%s', BRANCH)).toBe('Add a feature');
  });

  test('files that a reviewer should look at first are named, whoever committed them', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    await iterate(scene, async () => {
      await scene.write('package.json', '{"scripts":{"test":"vitest"}}\n');
      await scene.write('src/a.test.js', "test('a', f);\n");
    });
    const { committed } = await iterate(scene, async () => {
      await scene.write('package.json', '{"scripts":{"test":"true","postinstall":"node x.js"}}\n');
      await commitFile(scene, 'AGENTS.md', 'Add instructions');
      await scene.write('src/a.test.js', "test.skip('a', f);\n");
      await scene.write('tools/action.yml', 'name: x\n');
      await scene.write('logo.bin', Buffer.from([0, 1, 2, 0]));
    });
    expect(committed.withheld).toEqual([]);
    const one = (kind: string, path: string, what: string | null = null) => ({
      kind,
      fileCount: 1,
      files: [{ path, what }],
    });
    expect(committed.lookAt).toEqual([
      one('void-test-script', 'package.json', 'test always passes'),
      one('skipped-test', 'src/a.test.js'),
      one('script-by-itself', 'package.json', 'postinstall'),
      one('action', 'tools/action.yml'),
      one('agent-instructions', 'AGENTS.md'),
      one('new-binary', 'logo.bin'),
    ]);
    const { committed: next } = await iterate(scene, () => scene.write('src/a.js', 'a\n'));
    expect(next.lookAt).toEqual([]);
  });

  test.each<[string, (scene: Scene) => Promise<unknown>]>([
    ['a merge that stopped', (scene) => scene.git('-c', 'alias.t=!git merge -q mine || :', 't')],
    ['a rebase that stopped', (scene) => scene.git('-c', 'alias.t=!git rebase -q mine || :', 't')],
    [
      'a merge with markers in its commit',
      (scene) => scene.git('-c', 'alias.t=!git merge -q mine || git commit -qam x', 't'),
    ],
  ])('%s of the agent itself: the file with new markers is named until it is resolved', async (_name, leave) => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.git('checkout', '--quiet', '-b', 'mine');
      await commitFile(scene, 'a.txt', 'Mine');
      await scene.git('checkout', '--quiet', '-');
      await scene.write('a.txt', 'other\n');
      await scene.git('add', 'a.txt');
      await scene.git('commit', '--quiet', '-m', 'Other');
      await leave(scene);
    });
    expect(await scene.read('a.txt')).toMatch(/^<<<<<<< /m);
    expect(committed.lookAt).toEqual([
      { kind: 'conflict-markers', fileCount: 1, files: [{ path: 'a.txt', what: null }] },
    ]);
    expect(await scene.git('status', '--porcelain=v2', '--branch')).not.toMatch(/^u /m);
    const { committed: next } = await iterate(scene, () => scene.write('a.txt', 'both\n'));
    expect(next).toMatchObject({ lookAt: [], merge: 'none' });
  });

  test('the whole branch is measured: lines of people, and what the commits of each task changed', async () => {
    await using scene = await setScene();
    expect(await scene.repository.review()).toBeNull();
    await openFresh(scene);
    const on = (task: string, agent: () => Promise<unknown>) =>
      iterate(scene, agent, scene.repository, { 'Ralph-Run': '1', 'Ralph-Task': task });
    await on('issue-12', async () => {
      await scene.write('src/hello.js', 'one\ntwo\n');
      await scene.write('package-lock.json', '{\n}\n');
      await commitFile(scene, 'notes.md', 'Add notes\n\nRalph-Task: issue-99');
    });
    await on('issue-12', () => scene.write('src/hello.js', 'one\nthree\n'));
    const long = Array.from({ length: 12 }, (_, i) => `line ${String(i)}\n`).join('');
    const { before } = await on('plan-0a1b2c3d', () => scene.write('src/long.js', long));
    const review = await scene.repository.review();
    expect(review?.sizes).toEqual({
      'issue-12': { files: 3, insertions: 6, deletions: 1, since: await scene.git('rev-parse', 'main') },
      'plan-0a1b2c3d': { files: 1, insertions: 12, deletions: 0, since: before.head },
    });
    expect(review?.lines).toBe(15);
    expect(review?.lookAt).toEqual([
      { kind: 'notes', fileCount: 1, files: [{ path: 'notes.md', what: null }] },
      { kind: 'untested', fileCount: 1, files: [{ path: 'src/long.js', what: null }] },
    ]);
  });

  test('a second iteration continues from the first', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const first = await iterate(scene, () => scene.write('a.txt', '1'));
    const second = await iterate(scene, () => scene.write('a.txt', '2'));
    expect(await scene.git('rev-parse', `${second.committed.head}~1`)).toBe(first.committed.head);
  });

  test('the state of the loop is never committed, not even by force', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.write('.ralph/state/queue.json', 'state');
      await scene.write('.ralph-complete', '');
      await scene.write('.ralph/fix_plan.md', '- [ ] x\n');
      await scene.git('add', '-f', '.');
      await scene.git('commit', '--quiet', '-m', 'all of it');
    });
    expect(await scene.git('ls-tree', '-r', '--name-only', committed.head, '.ralph', '.ralph-complete')).toBe(
      '.ralph/fix_plan.md',
    );
    // A withheld file would contradict the claim that the marker makes.
    expect(committed.withheld).toEqual([]);
  });
});

describe('commit() withholds what must not be published, publishes the rest, and says why', () => {
  const cases: readonly [what: string, path: string, why: RegExp, agent: (scene: Scene) => Promise<unknown>][] = [
    [
      'a workflow',
      '.github/workflows/ci.yml',
      /protected path/,
      (scene) => scene.write('.github/workflows/ci.yml', 'on: push\n'),
    ],
    ['.github as a link', '.github', /protected path/, (scene) => symlink('src', join(scene.folder, '.github'))],
    [
      'other letter case',
      '.GitHub/workflows/ci.yml',
      /protected path/,
      (scene) => scene.write('.GitHub/workflows/ci.yml', 'on: push\n'),
    ],
    ['the action itself', 'action.yml', /protected path/, (scene) => scene.write('action.yml', 'name: x\n')],
    ['owners', 'docs/CODEOWNERS', /protected path/, (scene) => scene.write('docs/CODEOWNERS', '* @me\n')],
    [
      'settings of the agent',
      '.claude/settings.json',
      /protected path/,
      (scene) => scene.write('.claude/settings.json', '{}'),
    ],
    [
      'servers of the agent',
      'packages/a/.mcp.json',
      /protected path/,
      (scene) => scene.write('packages/a/.mcp.json', '{}'),
    ],
    [
      'git attributes',
      'src/.gitattributes',
      /protected path/,
      (scene) => scene.write('src/.gitattributes', '* -diff\n'),
    ],
    [
      'a workflow with the value of a secret: both reasons',
      '.github/workflows/ci.yml',
      /contains the value of a secret of this job, and is a protected path as well$/,
      (scene) => scene.write('.github/workflows/ci.yml', `on: push # ${SECRET}\n`),
    ],
    ['a link to /', 'root', /lead out/, (scene) => symlink('/etc', join(scene.folder, 'root'))],
    ['a link up', 'src/up', /lead out/, (scene) => symlink('../../x', join(scene.folder, 'src/up'))],
    [
      'a link through a link',
      'src/through',
      /lead out/,
      (scene) => symlink('a/../../x', join(scene.folder, 'src/through')),
    ],
    ['a link into .git', 'hooks', /lead out/, (scene) => symlink('.git/hooks', join(scene.folder, 'hooks'))],
    [
      'a nested repository',
      'vendor/lib',
      /repository of its own|inside the repository/,
      async (scene) => {
        await scene.git('init', '--quiet', 'vendor/lib');
        await scene.write('vendor/lib/a.js', 'a');
      },
    ],
    [
      'the value of a secret',
      'src/leak.js',
      /value of a secret/,
      (scene) => scene.write('src/leak.js', `const p = "${SECRET}";\n`),
    ],
    [
      'the same in base64',
      'src/leak.txt',
      /value of a secret/,
      (scene) => scene.write('src/leak.txt', Buffer.from(`user:${SECRET}\n`).toString('base64')),
    ],
    [
      'the same in a binary file',
      'leak.dat',
      /value of a secret/,
      (scene) => scene.write('leak.dat', Buffer.concat([Buffer.alloc(10), Buffer.from(SECRET)])),
    ],
    ['the same as a file name', SECRET, /name contains the value/, (scene) => scene.write(SECRET, 'x')],
    [
      'the same over folders',
      `${SECRET.slice(0, 9)}/${SECRET.slice(9)}`,
      /name contains the value/,
      (scene) => scene.write(`${SECRET.slice(0, 9)}/${SECRET.slice(9)}`, 'x'),
    ],
    [
      'the same in hex as a file name',
      Buffer.from(SECRET).toString('hex'),
      /name contains the value/,
      (scene) => scene.write(Buffer.from(SECRET).toString('hex'), 'x'),
    ],
    [
      'the same in a packed file',
      'leak.gz',
      /value of a secret/,
      (scene) => scene.write('leak.gz', gzipSync(`password ${SECRET}`)),
    ],
    [
      'a key as a file name',
      NPM_TOKEN,
      /name looks like it contains a key \(npm\)/,
      (scene) => scene.write(NPM_TOKEN, 'x'),
    ],
    ['the token of the run', 'src/token.js', /value of a secret/, (scene) => scene.write('src/token.js', TOKEN)],
    [
      'a key by its pattern',
      '.npmrc',
      /looks like it contains a key \(npm\)/,
      (scene) => scene.write('.npmrc', `//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n`),
    ],
    [
      'a name that is not UTF-8',
      'bad-\u{FFFD}.txt',
      /not valid UTF-8/,
      async (scene) => {
        await writeFile(
          Buffer.concat([Buffer.from(`${scene.folder}/bad-`), Buffer.from([0xff]), Buffer.from('.txt')]),
          'x',
        );
        await scene.git('add', '.');
        await scene.git('commit', '--quiet', '-m', 'bad name');
      },
    ],
    [
      "a file over GitHub's limit",
      'huge.bin',
      /larger than the 100 MiB/,
      async (scene) => {
        await scene.write('huge.bin', '');
        await truncate(join(scene.folder, 'huge.bin'), 101 * 2 ** 20);
      },
    ],
  ];

  test('a file that a content filter is for', async () => {
    await using scene = await setScene();
    await scene.write('.gitattributes', '*.bin filter=lfs\n');
    await scene.git('add', '.');
    await scene.git('commit', '--quiet', '-m', 'lfs');
    await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:main');
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.write('large.bin', 'the large content');
      await scene.write('docs/.gitattributes', '*.png filter=lfs\n');
      await scene.write('docs/picture.png', 'a picture');
      await scene.write('fine.txt', 'fine');
    });
    const why = 'a content filter (such as git-lfs) applies to it, and filters are not run';
    expect(committed.withheld).toEqual(
      expect.arrayContaining([
        { path: 'large.bin', why },
        { path: 'docs/picture.png', why },
      ]),
    );
    expect(committed.publishedPaths).toEqual(['fine.txt']);
  });

  test.each(cases)('%s (%s)', async (_, path, why, agent) => {
    await using scene = await setScene({ secretValues: () => [SECRET] });
    await openFresh(scene);
    const { change, committed } = await iterate(scene, async () => {
      await scene.write('src/fine.js', '// fine\n');
      await agent(scene);
    });
    expect(committed.withheld).toEqual([{ path, why: expect.stringMatching(why) }]);
    expect(change.fileCount).toBeGreaterThanOrEqual(1);
    expect(await scene.git('show', '--format=', '--name-only', committed.head)).toBe('src/fine.js');
    // The file stays in the work tree, is not progress of the next iteration, and is left out of its commit without
    // another message.
    const next = await iterate(scene, () => scene.write('src/next.js', '// next\n'));
    expect(next.change.files).toEqual(['src/next.js']);
    expect(next.committed.withheld).toEqual([]);
    expect(await scene.git('diff', '--name-only', 'main', BRANCH)).toBe('src/fine.js\nsrc/next.js');
  });

  test.skipIf(process.getuid?.() === 0)('a file that cannot be read', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.write('closed.txt', 'x');
      await chmod(join(scene.folder, 'closed.txt'), 0);
    });
    expect(committed.withheld).toEqual([{ path: 'closed.txt', why: 'it cannot be read' }]);
  });

  test('allow-protected-paths lets through what it names', async () => {
    await using scene = await setScene({ allowProtectedPaths: ['.github/ISSUE_TEMPLATE/**'] });
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.write('.github/ISSUE_TEMPLATE/bug.md', 'bug\n');
      await scene.write('.github/workflows/ci.yml', 'on: push\n');
    });
    expect(committed.withheld.map((file) => file.path)).toEqual(['.github/workflows/ci.yml']);
    expect(await scene.git('show', '--format=', '--name-only', committed.head)).toBe('.github/ISSUE_TEMPLATE/bug.md');
  });

  test('a file that moves to a protected path stays where it was', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    await iterate(scene, () => scene.write('ci.yml', 'on: push\n'));
    const { committed } = await iterate(scene, async () => {
      await rm(join(scene.folder, 'ci.yml'));
      await scene.write('.github/workflows/ci.yml', 'on: push\n');
      await scene.write('a', 'a');
    });
    expect(committed.publishedPaths).toEqual(['a']);
    expect(committed.withheld.map(({ path }) => path)).toEqual(['.github/workflows/ci.yml', 'ci.yml']);
  });

  test('a protected file that was removed comes back', async () => {
    await using scene = await setScene({ allowProtectedPaths: ['action.yml'] });
    await openFresh(scene);
    await iterate(scene, () => scene.write('action.yml', 'name: x\n'));
    const strict = scene.reopen({ allowProtectedPaths: [] });
    await strict.openLane({ branch: 'ralph/issue-2', baseBranch: 'main', start: { kind: 'fresh' } });
    await scene.write('.gitattributes', 'x\n');
    const { committed } = await iterate(scene, async () => scene.write('a', 'a'), strict);
    expect(committed.withheld).toEqual([]);
    expect(await scene.git('show', '--format=', '--name-only', committed.head)).toBe('a');
  });

  test('a key that the file held before does not lock the file', async () => {
    await using scene = await setScene();
    await scene.write('test/fixture.txt', NPM_TOKEN);
    await scene.git('add', '.');
    await scene.git('commit', '--quiet', '-m', 'fixture');
    await scene.serverGit('fetch', '--quiet', scene.folder, 'main:main', '--update-head-ok');
    await openFresh(scene);
    const { committed } = await iterate(scene, () => scene.write('test/fixture.txt', `${NPM_TOKEN}\nmore\n`));
    expect(committed.withheld).toEqual([]);
    const again = await iterate(scene, () =>
      scene.write('test/fixture.txt', `${NPM_TOKEN}\nmore\n${NPM_TOKEN.replace('a1', 'z9')}\n`),
    );
    expect(again.committed.withheld).toHaveLength(1);
  });

  test('beyond max-patch-files the folder with most files is left out', async () => {
    await using scene = await setScene({ maxPatchFiles: 5 });
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      for (let i = 0; i < 20; i++) await scene.write(`build/${i}.js`, 'x');
      await scene.write('src/fine.js', '// fine\n');
    });
    expect(committed.withheld).toHaveLength(20);
    expect(committed.withheld[0]?.why).toContain('max-patch-files (5)');
    expect(await scene.git('show', '--format=', '--name-only', committed.head)).toBe('src/fine.js');
  });

  test('beyond max-patch-kib the largest file is left out; a few new lines in a large file are a small patch', async () => {
    await using scene = await setScene({ maxPatchKib: 10 });
    await openFresh(scene);
    const lines = Array.from({ length: 1000 }, (_, i) => `line ${i}`).join('\n');
    await iterate(scene, () => scene.write('lock.txt', lines));
    const { committed } = await iterate(scene, async () => {
      await scene.write('large.txt', 'x'.repeat(20_000));
      await scene.write('lock.txt', `${lines}\nmore`);
    });
    expect(committed.withheld).toEqual([{ path: 'large.txt', why: expect.stringContaining('max-patch-kib (10)') }]);
    expect(await scene.git('show', '--format=', '--name-only', committed.head)).toBe('lock.txt');
  });
});

describe("commit() squashes the agent's commits if they contain a secret", () => {
  test('a secret that was added and removed again is in no published commit; the subjects are listed', async () => {
    await using scene = await setScene({ secretValues: () => [SECRET] });
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      for (const [content, subject] of [
        [SECRET, 'add config'],
        ['none', 'oops'],
        ['final', `forget ${SECRET}`],
      ] as const) {
        await scene.write('config.txt', content);
        await scene.git('add', '.');
        await scene.git('commit', '--quiet', '-m', subject);
      }
    });
    expect(await published(scene)).not.toContain(SECRET);
    expect(await scene.git('log', '-1', '--format=%B', committed.head)).toBe(
      'Add a feature\n\nCombines these commits by the agent:\n- add config\n- oops\n- (withheld)\n\nRalph-Iteration: 1',
    );
    expect(await scene.git('rev-list', '--count', `main..${BRANCH}`)).toBe('1');
    expect(await scene.git('show', `${committed.head}:config.txt`)).toBe('final');
    expect(committed.withheld).toContainEqual({
      path: 'config.txt',
      why: expect.stringContaining('value of a secret'),
    });
  });

  test('a secret in the text of a commit', async () => {
    await using scene = await setScene({ secretValues: () => [SECRET] });
    await openFresh(scene);
    const { committed } = await iterate(scene, () =>
      scene.git('commit', '--quiet', '--allow-empty', '-m', `password: ${SECRET}`),
    );
    expect(await published(scene)).not.toContain(SECRET);
    expect(committed.withheld).toEqual([
      { path: expect.stringMatching(/^commit [0-9a-f]{12} \(its text\)$/), why: expect.stringContaining('secret') },
    ]);
  });

  test('commits made in secret between two iterations are inspected as well', async () => {
    await using scene = await setScene({ secretValues: () => [SECRET] });
    await openFresh(scene);
    await scene.write('leak.txt', SECRET);
    await scene.git('add', '.');
    await scene.git('commit', '--quiet', '-m', 'late');
    await iterate(scene, () => scene.write('a.txt', 'a'));
    expect(await published(scene)).not.toContain(SECRET);
  });
});

describe('commit() puts the work on top of the lane, wherever the agent left HEAD', () => {
  const cases: readonly [what: string, agent: (scene: Scene) => Promise<unknown>, files: string][] = [
    ['another branch', (scene) => scene.git('checkout', '--quiet', '-b', 'feature'), 'agent.txt\nfirst.txt\nleft.txt'],
    ['a detached HEAD', (scene) => scene.git('checkout', '--quiet', '--detach'), 'agent.txt\nfirst.txt\nleft.txt'],
    ['a reset to before the start', (scene) => scene.git('reset', '--quiet', '--hard', 'main'), 'agent.txt\nleft.txt'],
    [
      'an amended commit',
      (scene) => scene.git('commit', '--quiet', '--amend', '-m', 'amended'),
      'agent.txt\nfirst.txt\nleft.txt',
    ],
    [
      'an unrelated branch',
      (scene) => scene.git('checkout', '--quiet', '--orphan', 'island'),
      'agent.txt\nfirst.txt\nleft.txt',
    ],
    [
      'a merge',
      async (scene) => {
        await scene.git('checkout', '--quiet', '-b', 'side', 'main');
        await scene.write('side.txt', 'side');
        await scene.git('add', '.');
        await scene.git('commit', '--quiet', '-m', 'side');
        await scene.git('checkout', '--quiet', BRANCH);
        await scene.git('merge', '--quiet', '--no-ff', '-m', 'merge', 'side');
      },
      'agent.txt\nfirst.txt\nleft.txt\nside.txt',
    ],
    [
      'no branch at all',
      async (scene) => {
        await scene.git('checkout', '--quiet', '--detach');
        await scene.git('branch', '--quiet', '-D', BRANCH);
      },
      'agent.txt\nfirst.txt\nleft.txt',
    ],
    [
      "a lane branch that points to main's ref",
      async (scene) => {
        await scene.git('symbolic-ref', `refs/heads/${BRANCH}`, 'refs/heads/main');
        await scene.git('checkout', '--quiet', '--detach');
      },
      'agent.txt\nleft.txt',
    ],
  ];

  test.each(cases)('%s', async (what, agent, files) => {
    await using scene = await setScene();
    await openFresh(scene);
    const first = await iterate(scene, () => scene.write('first.txt', '1'));
    const main = await scene.git('rev-parse', 'main');
    const { committed } = await iterate(scene, async () => {
      await agent(scene);
      if (what.includes("main's ref")) await scene.git('reset', '--quiet', '--hard', 'main');
      await scene.write('agent.txt', 'a');
      await scene.git('add', '.');
      await scene.git('commit', '--quiet', '-m', 'work');
      await scene.write('left.txt', 'l');
    });
    await scene.git('merge-base', '--is-ancestor', first.committed.head, committed.head);
    expect(await scene.git('diff', '--name-only', main, committed.head)).toBe(files);
    expect(await scene.git('rev-list', '--merges', '--count', committed.head)).toBe('0');
    expect(await scene.git('rev-parse', 'HEAD', BRANCH)).toBe(`${committed.head}\n${committed.head}`);
    expect(await scene.git('symbolic-ref', 'HEAD')).toBe(`refs/heads/${BRANCH}`);
    expect(await scene.git('rev-parse', 'main')).toBe(main);
    expect(await scene.git('status', '--porcelain')).toBe('');
  });

  test('an agent that was killed in the middle of git: stale locks, half a merge, conflicts in the index', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.git('checkout', '--quiet', '-b', 'other', 'main');
      await scene.write('README.md', 'theirs\n');
      await scene.git('commit', '--quiet', '-am', 'theirs');
      await scene.git('checkout', '--quiet', BRANCH);
      await scene.write('README.md', 'ours\n');
      await scene.git('commit', '--quiet', '-am', 'ours');
      await scene.git('merge', 'other').catch(() => undefined);
      await scene.write('README.md', 'resolved\n');
      await writeFile(join(scene.folder, '.git', 'index.lock'), '');
      await writeFile(join(scene.folder, '.git', 'HEAD.lock'), '');
    });
    expect(await scene.git('show', `${committed.head}:README.md`)).toBe('resolved');
    expect(await scene.git('status', '--porcelain')).toBe('');
    await scene.git('commit', '--quiet', '--allow-empty', '-m', 'the next iteration can work');
  });

  test('a ruined index, config and HEAD', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const before = await scene.repository.snapshot();
    await scene.write('a.txt', 'a');
    for (const name of ['index', 'config', 'HEAD']) await writeFile(join(scene.folder, '.git', name), 'rubbish');
    const committed = await scene.repository.commit(messageFor(before, await scene.repository.snapshot()));
    expect(await scene.git('rev-parse', 'HEAD')).toBe(committed.head);
    expect(await scene.git('status', '--porcelain')).toBe('');
  });

  test.each(['removed', 'replaced', 'emptied'])('a %s git directory costs nothing: the work is kept', async (what) => {
    await using scene = await setScene();
    await openFresh(scene);
    const first = await iterate(scene, () => scene.write('a.txt', 'a'));
    const before = await scene.repository.snapshot();
    await scene.write('b.txt', 'b');
    await rm(join(scene.folder, '.git', ...(what === 'emptied' ? ['objects'] : [])), { recursive: true });
    if (what === 'replaced') await scene.git('init', '--quiet');
    const committed = await scene.repository.commit(messageFor(before, await scene.repository.snapshot()));
    const start = { kind: 'fresh' } as const;
    expect(
      await scene.remote().push({ branch: BRANCH, commit: committed.head, since: first.before.head, start }),
    ).toEqual({ kind: 'pushed' });
    expect(await scene.serverGit('ls-tree', '--name-only', BRANCH)).toContain('a.txt\nb.txt');
    // The next iteration has an ordinary checkout.
    expect(await scene.git('status', '--porcelain')).toBe('');
    expect(await scene.git('log', '--format=%H', '-1')).toBe(committed.head);
  });
});

describe('Ralph runs no program of the repository', () => {
  /** Creates a program that leaves a file behind when it is run. */
  async function trap(scene: Scene): Promise<{ program: string; sprung: () => Promise<boolean> }> {
    const program = join(scene.workFolder, 'trap');
    await mkdir(scene.workFolder, { recursive: true });
    await writeFile(program, `#!/bin/sh\necho "$0 $*" >> ${program}.sprung\nexit 1\n`, { mode: 0o755 });
    return {
      program,
      sprung: () =>
        readFile(`${program}.sprung`).then(
          () => true,
          () => false,
        ),
    };
  }

  /** Each trap; `proof` is a plain git command that does spring it. */
  const traps: readonly [what: string, proof: string[], set: (scene: Scene, program: string) => Promise<unknown>][] = [
    [
      'hooks',
      ['commit', '--allow-empty', '-m', 'x'],
      async (scene, program) => {
        for (const hook of [
          'pre-commit',
          'post-commit',
          'prepare-commit-msg',
          'commit-msg',
          'post-checkout',
          'post-index-change',
          'reference-transaction',
          'pre-push',
          'post-rewrite',
        ])
          await symlink(program, join(scene.folder, '.git', 'hooks', hook));
      },
    ],
    [
      'core.hooksPath',
      ['commit', '--allow-empty', '-m', 'x'],
      async (scene, program) => {
        await mkdir(join(scene.workFolder, 'hooks'));
        await symlink(program, join(scene.workFolder, 'hooks', 'reference-transaction'));
        await scene.git('config', 'core.hooksPath', join(scene.workFolder, 'hooks'));
      },
    ],
    ['a file system monitor', ['status'], (scene, program) => scene.git('config', 'core.fsmonitor', program)],
    [
      'content filters',
      ['add', '--renormalize', '.'],
      async (scene, program) => {
        await scene.write('.git/info/attributes', '* filter=evil\n');
        await scene.write('.gitattributes', '*.md filter=evil diff=evil merge=evil\n');
        for (const key of [
          'filter.evil.clean',
          'filter.evil.smudge',
          'filter.evil.process',
          'diff.evil.textconv',
          'diff.evil.command',
          'merge.evil.driver',
        ])
          await scene.git('config', key, program);
      },
    ],
    [
      'an external diff, a pager, an editor, a signing program',
      ['commit', '--allow-empty', '-m', 'x'],
      async (scene, program) => {
        for (const key of [
          'diff.external',
          'core.pager',
          'core.editor',
          'gpg.program',
          'core.sshCommand',
          'core.askPass',
          'credential.helper',
          'core.alternateRefsCommand',
          'trailer.ralph.command',
        ])
          await scene.git('config', key, program);
        await scene.git('config', 'commit.gpgSign', 'true');
      },
    ],
    [
      'a remote that git would fetch missing objects from',
      ['cat-file', '-p', '2'.repeat(40)],
      async (scene, program) => {
        await scene.git('config', 'remote.origin.promisor', 'true');
        await scene.git('config', 'extensions.partialClone', 'origin');
        await scene.git('config', 'remote.origin.url', `ext::${program}`);
        await scene.git('config', 'protocol.ext.allow', 'always');
        await scene.write('.git/HEAD', '1'.repeat(40));
      },
    ],
    [
      'a nested repository with a monitor',
      ['-C', 'nested', 'status'],
      async (scene, program) => {
        await scene.git('init', '--quiet', 'nested');
        await scene.git('-C', 'nested', 'commit', '--quiet', '--allow-empty', '-m', 'x');
        await scene.git('-C', 'nested', 'config', 'core.fsmonitor', program);
        await scene.write('nested/a', 'a');
      },
    ],
  ];

  test.each(traps)('%s', async (_, proof, set) => {
    await using scene = await setScene();
    await openFresh(scene);
    const { program, sprung } = await trap(scene);
    const start = await scene.git('rev-parse', 'HEAD');
    const { committed } = await iterate(scene, async () => {
      await set(scene, program);
      await scene.write('src/new.js', '// new\n');
      await scene.write('README.md', 'changed\n');
    });
    await scene.repository.snapshot();
    expect(committed.head).not.toBe(start);
    expect(await scene.remote().push({ branch: BRANCH, commit: committed.head, start: { kind: 'fresh' } })).toEqual({
      kind: 'pushed',
    });
    expect(await sprung()).toBe(false);
    await scene.git(...proof).catch(() => undefined);
    expect(await sprung()).toBe(true);
  });

  test('a git that the agent put on PATH in the home folder is not the one that we run', async () => {
    await using scene = await setScene();
    const home = join(scene.folder, '..');
    const bin = join(home, '.local', 'bin');
    await mkdir(bin, { recursive: true });
    await writeFile(join(bin, 'git'), `#!/bin/sh\ntouch ${home}/sprung\n`, { mode: 0o755 });
    const real = process.env['PATH'] ?? '';
    const { createGit } = await import('../../../src/git/git.ts');
    const version = await createGit({ folder: home, env: { HOME: home, PATH: `${bin}:${real}` } }).text(['version']);
    expect(version).toContain('git version');
    await expect(readFile(join(home, 'sprung'))).rejects.toThrow('ENOENT');
  });
});

describe('a commit of texts alone', () => {
  test('has these files on top of what is published, and nothing of the work tree', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.write('.ralph/learnings.md', 'long');
    });
    await scene.write('src/unseen.js', 'unseen');
    await scene.write('.ralph/learnings.md', 'changed since');
    expect(await scene.repository.publishedTexts(['.ralph/learnings.md', 'absent.md'])).toEqual({
      '.ralph/learnings.md': 'long',
    });
    const texts = { '.ralph/learnings.md': 'short', '.ralph/learnings_archive.md': 'long' };
    const made = await scene.repository.commitTexts({ texts, message: 'Archive', trailers: { 'Ralph-Run': '1' } });
    expect(made.withheld).toEqual([]);
    expect(await scene.git('diff', '--name-only', committed.head, made.head)).toBe(Object.keys(texts).join('\n'));
    expect(await scene.git('show', `${made.head}:.ralph/learnings.md`)).toBe('short');
    expect(await scene.git('rev-parse', 'HEAD', `${made.head}^`)).toBe(`${made.head}\n${committed.head}`);
    expect(await scene.git('status', '--short')).toContain('src/unseen.js');
  });

  test('is not made where one of them must not be published', async () => {
    await using scene = await setScene();
    const { head } = await openFresh(scene);
    const texts = { 'notes.md': 'fine', '.github/workflows/steal.yml': 'on: push' };
    const made = await scene.repository.commitTexts({ texts, message: 'Archive', trailers: {} });
    expect(made).toMatchObject({ head, withheld: [{ path: '.github/workflows/steal.yml' }] });
  });
});
