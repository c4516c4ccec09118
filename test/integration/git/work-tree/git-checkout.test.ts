import { chmod, chown, mkdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { git, SAMPLE_ENVIRONMENT } from '../../../../testbed/git.ts';
import { BRANCH, iterate, openFresh, runGit, setScene, TOKEN } from '../git-fixture.ts';

const unaborted = new AbortController().signal;

describe('problems() names every reason why a checkout cannot be used', () => {
  test('a clean clone has none', async () => {
    await using scene = await setScene();
    expect(await scene.repository.problems()).toEqual([]);
  });

  test('a folder that is not a checkout', async () => {
    await using scene = await setScene();
    await rm(join(scene.folder, '.git'), { recursive: true });
    const [problem, ...others] = await scene.repository.problems();
    expect(problem).toMatch(/is not a git checkout .*not a git repository.*actions\/checkout/s);
    expect(others).toEqual([]);
  });

  test('a repository without commits', async () => {
    await using scene = await setScene();
    await rm(join(scene.folder, '.git'), { recursive: true });
    await scene.git('init', '--quiet');
    expect(await scene.repository.problems()).toEqual([expect.stringContaining('has no commits yet')]);
  });

  test('detached, shallow and dirty at once, with what to do about each', async () => {
    await using scene = await setScene();
    const head = await scene.git('rev-parse', 'HEAD');
    await scene.git('checkout', '--quiet', '--detach');
    await writeFile(join(scene.folder, '.git', 'shallow'), `${head}\n`);
    for (let i = 10; i < 22; i++) await scene.write(`new-${i}.txt`, 'x');
    const problems = await scene.repository.problems();
    expect(problems).toHaveLength(3);
    expect(problems[0]).toContain('fetch-depth: 0');
    expect(problems[1]).toContain(head.slice(0, 12));
    expect(problems[1]).toContain('ref:');
    expect(problems[2]).toMatch(/new-10\.txt, .*new-19\.txt and 2 more\. .*\.gitignore/);
  });

  test('a shallow clone is completed, and then as good as a full one', async () => {
    await using scene = await setScene();
    for (const message of ['one', 'two'])
      await scene.git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', message);
    await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:main');
    const head = await scene.git('rev-parse', 'HEAD');
    const count = await scene.git('rev-list', '--count', 'HEAD');
    await rm(scene.folder, { recursive: true });
    const source = `file://${scene.server.repositoryFolder}`;
    await runGit(dirname(scene.folder), ['clone', '--quiet', '--depth=1', source, scene.folder]);
    expect(await scene.git('rev-parse', '--is-shallow-repository')).toBe('true');
    const repository = scene.reopen();
    expect(await repository.problems()).toEqual([]);
    expect(await scene.git('rev-parse', '--is-shallow-repository')).toBe('false');
    expect(await scene.git('rev-list', '--count', 'HEAD')).toBe(count);
    expect(await openFresh(scene, repository)).toMatchObject({ base: head, ahead: 0 });
  });

  test('a merge in progress', async () => {
    await using scene = await setScene();
    await writeFile(join(scene.folder, '.git', 'MERGE_HEAD'), await scene.git('rev-parse', 'HEAD'));
    expect(await scene.repository.problems()).toEqual([expect.stringMatching(/A merge is in progress.*--abort/)]);
  });

  test('a sparse and partial clone is completed, and laid as it was in all trees', async () => {
    await using scene = await setScene();
    await scene.write('lib/a/file.txt', 'a');
    await scene.write('other/needed.txt', 'n');
    await scene.git('add', '.');
    await scene.git('commit', '--quiet', '-m', 'folders');
    await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:main');
    await scene.serverGit('config', 'uploadpack.allowFilter', 'true');
    await rm(scene.folder, { recursive: true });
    // This is what actions/checkout does.
    const source = `file://${scene.server.repositoryFolder}`;
    const clone = ['clone', '--quiet', '--depth=1', '--filter=blob:none', '--no-checkout', source, scene.folder];
    await runGit(dirname(scene.folder), clone);
    await scene.git('sparse-checkout', 'set', 'lib/a');
    await scene.git('checkout', '--quiet', 'main');
    await expect(scene.read('other/needed.txt')).rejects.toThrow(/ENOENT/);

    const repository = scene.reopen();
    expect(await repository.problems()).toEqual([]);
    const { base, warnings } = await openFresh(scene, repository);
    expect(warnings).toEqual([expect.stringMatching(/is sparse.*the agent and `verify` see the files that it has/)]);
    const clean = await repository.checkOutCommitAlone(base, unaborted);
    expect(await readFile(join(clean, 'lib/a/file.txt'), 'utf8')).toBe('a');
    await expect(readFile(join(clean, 'other/needed.txt'), 'utf8')).rejects.toThrow(/ENOENT/);

    const { committed, change } = await iterate(
      scene,
      async () => {
        await scene.write('lib/a/file.txt', 'changed');
        await scene.write('other/new.txt', 'new');
      },
      repository,
    );
    expect(change.files).toEqual(['lib/a/file.txt', 'other/new.txt']);
    expect(await repository.putBack()).toEqual([]);
    expect(await scene.read('other/new.txt')).toBe('new');
    const head = await repository.checkOutCommitAlone(committed.head, unaborted);
    expect(await readFile(join(head, 'other/new.txt'), 'utf8')).toBe('new');
    await expect(readFile(join(head, 'other/needed.txt'), 'utf8')).rejects.toThrow(/ENOENT/);

    await repository.leave();
    expect(await scene.git('rev-parse', 'HEAD')).toBe(committed.head);
    expect(await scene.git('status', '--porcelain')).toBe('');
    expect(await scene.read('lib/a/file.txt')).toBe('changed');
    await expect(scene.read('other/needed.txt')).rejects.toThrow(/ENOENT/);
  });

  test.skipIf(process.getuid?.() !== 0)(
    'a checkout that belongs to another user is not a problem (containers)',
    async () => {
      await using scene = await setScene();
      await chown(scene.folder, 12345, 12345);
      await expect(scene.git('status')).rejects.toThrow('dubious ownership');
      expect(await scene.repository.problems()).toEqual([]);
    },
  );

  test('files that git-lfs put in place do not count as dirty', async () => {
    await using scene = await setScene();
    await scene.write('.gitattributes', '*.bin filter=lfs\n');
    await scene.write('a.bin', 'pointer');
    await scene.git('add', '.');
    await scene.git('commit', '--quiet', '-m', 'lfs');
    await scene.write('a.bin', 'the large content');
    expect(await scene.repository.problems()).toEqual([]);
  });
});

describe('openLane()', () => {
  test('a fresh lane begins at the base branch, on a branch of its own', async () => {
    await using scene = await setScene();
    const main = await scene.git('rev-parse', 'HEAD');
    const opened = await openFresh(scene);
    const baseTree = await scene.git('rev-parse', 'HEAD^{tree}');
    expect(opened).toEqual({
      head: main,
      base: main,
      fork: main,
      baseTree,
      ahead: 0,
      below: 0,
      personHead: null,
      warnings: [],
      tasks: [],
    });
    expect(await scene.git('symbolic-ref', '--short', 'HEAD')).toBe(BRANCH);
    expect(await scene.git('status', '--porcelain')).toBe('');
  });

  test('a lane is continued at its tip on the remote, with what the base branch lacks counted', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed } = await iterate(scene, () => scene.write('src/new.js', '// new\n'));
    expect(await scene.remote().push({ branch: BRANCH, commit: committed.head, start: { kind: 'fresh' } })).toEqual({
      kind: 'pushed',
    });
    await scene.repository.leave();
    await scene.git('checkout', '--quiet', 'main');
    await scene.git('branch', '--quiet', '-D', BRANCH);

    const again = scene.reopen();
    const opened = await again.openLane({
      branch: BRANCH,
      baseBranch: 'main',
      start: { kind: 'continue', remoteHead: committed.head },
    });
    expect(opened).toMatchObject({ head: committed.head, ahead: 1 });
    expect(await scene.read('src/new.js')).toBe('// new\n');
    expect(await scene.git('status', '--porcelain')).toBe('');
  });

  test('the tasks that its commits name are known, also after a rebase, but not after a squash', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed } = await iterate(scene, () => scene.write('src/a.js', '// a\n'), scene.repository, {
      'Ralph-Task': 'issue-1',
    });
    await scene.remote().push({ branch: BRANCH, commit: committed.head, start: { kind: 'fresh' } });
    await scene.repository.leave();
    const on = (parent: string, message: string) =>
      scene.serverGit(
        ...['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com'],
        ...['commit-tree', `${committed.head}^{tree}`, '-p', parent, '-m', message],
      );
    const tasksAt = async (head: string): Promise<readonly string[] | null> => {
      await scene.serverGit('update-ref', `refs/heads/${BRANCH}`, head);
      const start = { kind: 'continue', remoteHead: head } as const;
      return (await scene.reopen().openLane({ branch: BRANCH, baseBranch: 'main', start })).tasks;
    };
    const rebased = await on('main', 'Again\n\nRalph-Task: issue-1\n\nMore\n\nRalph-Task: issue-2');
    expect(await tasksAt(await on(rebased, 'By a person'))).toEqual(['issue-1', 'issue-2']);
    expect(await tasksAt(await on('main', 'Squashed'))).toBeNull();
    expect(await tasksAt(await scene.serverGit('rev-parse', 'main'))).toEqual([]);
  });

  test('the newest commit of a person is known, and none is that only brings the branch up to date', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed } = await iterate(scene, () => scene.write('src/new.js', '// new\n'), scene.repository, {
      'Ralph-Run': '1',
    });
    expect(
      await scene.remote().push({ branch: BRANCH, commit: committed.head, start: { kind: 'fresh' } }),
    ).toMatchObject({ kind: 'pushed' });
    await scene.repository.leave();
    const on = (parents: readonly string[], message: string, email = 'ann@example.com') =>
      git(
        scene.server.repositoryFolder,
        ['commit-tree', `${parents[0] ?? ''}^{tree}`, ...parents.flatMap((one) => ['-p', one]), '-m', message],
        { env: { ...SAMPLE_ENVIRONMENT, GIT_AUTHOR_EMAIL: email } },
      );
    const base = await on(['main'], 'Base');
    await scene.serverGit('update-ref', 'refs/heads/main', base);
    const personHeadAt = async (remoteHead: string) => {
      await scene.serverGit('update-ref', `refs/heads/${BRANCH}`, remoteHead);
      const start = { kind: 'continue', remoteHead } as const;
      return (await scene.reopen().openLane({ branch: BRANCH, baseBranch: 'main', start })).personHead;
    };
    const updated = await on([committed.head, base], `Merge branch 'main' into ${BRANCH}`);
    expect(await personHeadAt(updated)).toBeNull();
    expect(await personHeadAt(await on([updated], 'Format', '1+bot[bot]@users.noreply.github.com'))).toBeNull();
    const byHand = await on([updated], 'By hand');
    expect(await personHeadAt(await on([byHand, base], 'Merge main'))).toBe(byHand);
  });

  test('commits of a base that was rewritten are counted below the work of the runs', async () => {
    await using scene = await setScene();
    const first = await scene.serverGit('rev-parse', 'main');
    const removed = await scene.serverGit('commit-tree', 'main^{tree}', '-p', first, '-m', 'Removed later');
    const made = await scene.serverGit('commit-tree', 'main^{tree}', '-p', removed, '-m', 'Work\n\nRalph-Run: 1');
    const byHand = await scene.serverGit('commit-tree', 'main^{tree}', '-p', made, '-m', 'By hand');
    await scene.serverGit('update-ref', `refs/heads/${BRANCH}`, byHand);
    const start = { kind: 'continue', remoteHead: byHand } as const;
    const open = () => scene.reopen().openLane({ branch: BRANCH, baseBranch: 'main', start });
    expect(await open()).toMatchObject({ ahead: 3, below: 1 });
    await scene.serverGit('update-ref', 'refs/heads/main', removed);
    expect(await open()).toMatchObject({ ahead: 2, below: 0 });
  });

  test('a remote tip that is not the expected one stops the run', async () => {
    await using scene = await setScene();
    await scene.serverGit('branch', BRANCH, 'main');
    await expect(
      scene.repository.openLane({
        branch: BRANCH,
        baseBranch: 'main',
        start: { kind: 'continue', remoteHead: '1'.repeat(40) },
      }),
    ).rejects.toThrow(/moved from 1{40}.*Run the workflow again/);
  });

  test('an unknown base branch is a configuration error that names it', async () => {
    await using scene = await setScene();
    await expect(
      scene.repository.openLane({ branch: BRANCH, baseBranch: 'trunk', start: { kind: 'fresh' } }),
    ).rejects.toMatchObject({ kind: 'configuration', message: expect.stringContaining('"trunk"') });
  });

  test.each(['--upload-pack=touch', 'a..b', 'a b', ''])(
    'the branch name %j is refused before git sees it as an option',
    async (name) => {
      await using scene = await setScene();
      await expect(
        scene.repository.openLane({ branch: name, baseBranch: 'main', start: { kind: 'fresh' } }),
      ).rejects.toThrow(/cannot be the name of a branch/);
    },
  );

  test('local commits that exist only here stay reachable in the checkout', async () => {
    await using scene = await setScene();
    await scene.git('checkout', '--quiet', '-b', BRANCH);
    await scene.git('commit', '--quiet', '--allow-empty', '-m', 'only here');
    const only = await scene.git('rev-parse', 'HEAD');
    await scene.git('checkout', '--quiet', 'main');
    await openFresh(scene);
    await scene.repository.leave();
    expect(await scene.git('rev-parse', `refs/ralph/backup/${only}`)).toBe(only);
    expect(await scene.git('log', '--oneline', BRANCH)).not.toContain('only here');
  });

  test('what one lane left withheld does not leak into the next lane of the run', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    await iterate(scene, async () => {
      await scene.write('.github/workflows/evil.yml', 'on: push\n');
      await scene.write('src/fine.js', '// fine\n');
    });
    await scene.repository.openLane({ branch: 'ralph/issue-7', baseBranch: 'main', start: { kind: 'fresh' } });
    expect(await scene.git('status', '--porcelain')).toBe('');
    await expect(scene.read('src/fine.js')).rejects.toThrow('ENOENT');
  });

  test('the token goes to the remote as a header and is written to no config', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const basic = `basic ${Buffer.from(`x-access-token:${TOKEN}`).toString('base64')}`;
    expect(scene.server.requests.map((request) => request.authorization?.replace('Basic', 'basic'))).toContain(basic);
    expect(await scene.read('.git/config')).not.toContain('extraheader');
  });
});

describe('snapshot() and compare() measure content', () => {
  test('nothing changed: the tree of HEAD', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { head, tree } = await scene.repository.snapshot();
    expect({ head, tree }).toEqual({
      head: await scene.git('rev-parse', 'HEAD'),
      tree: await scene.git('rev-parse', 'HEAD^{tree}'),
    });
  });

  test.each([
    ['a touched file', false, async (folder: string) => utimes(join(folder, 'README.md'), 1, 1)],
    ['an ignored file', false, async (folder: string) => writeFile(join(folder, 'x.log'), 'x')],
    [
      'the state of the loop',
      false,
      async (folder: string) => {
        await mkdir(join(folder, '.ralph', 'state'), { recursive: true });
        await mkdir(join(folder, '.ralph', 'logs'));
        for (const name of ['state/queue.json', 'logs/1.txt', 'status.json', 'journal-2.jsonl', 'progress.json'])
          await writeFile(join(folder, '.ralph', name), 'x');
      },
    ],
    [
      'a user file of .ralph/',
      true,
      async (folder: string) => {
        await mkdir(join(folder, '.ralph'));
        await writeFile(join(folder, '.ralph', 'PROMPT.md'), 'x');
      },
    ],
    [
      "the agent's own notes",
      false,
      async (folder: string) => {
        await mkdir(join(folder, '.ralph'));
        await writeFile(join(folder, '.ralph', 'fix_plan.md'), '- [x] x');
        await writeFile(join(folder, '.ralph', 'learnings.md'), 'x');
      },
    ],
    [
      'the task files and what is archived of them',
      false,
      async (folder: string) => {
        for (const path of [
          '.ralph/prd.json',
          '.ralph/prd_archive.json',
          '.ralph/learnings_archive.md',
          '.ralph/@fix_plan.md',
          '@fix_plan.md',
          '.beads/issues.jsonl',
        ]) {
          await mkdir(dirname(join(folder, path)), { recursive: true });
          await writeFile(join(folder, path), 'x');
        }
      },
    ],
    [
      'other files beside them',
      true,
      async (folder: string) => {
        await mkdir(join(folder, '.beads', 'old'), { recursive: true });
        await writeFile(join(folder, '.beads', 'old', 'issues.jsonl'), 'x');
      },
    ],
    ['an untracked file', true, async (folder: string) => writeFile(join(folder, 'new.txt'), 'x')],
    ['a removed file', true, async (folder: string) => rm(join(folder, 'README.md'))],
    [
      'a file of the same size and time',
      true,
      async (folder: string) => {
        const path = join(folder, 'README.md');
        await writeFile(path, (await readFile(path, 'utf8')).replace('few', 'FEW'));
        await utimes(path, 1, 1);
      },
    ],
    ['an executable bit', true, async (folder: string) => chmod(join(folder, 'src', 'sum.js'), 0o755)],
    [
      'a file that becomes a folder',
      true,
      async (folder: string) => {
        await rm(join(folder, 'README.md'));
        await mkdir(join(folder, 'README.md'));
        await writeFile(join(folder, 'README.md', 'en'), 'x');
      },
    ],
    [
      'a folder that becomes a link',
      true,
      async (folder: string) => {
        await rm(join(folder, 'src'), { recursive: true });
        await symlink('test', join(folder, 'src'));
      },
    ],
    [
      'an empty commit',
      false,
      async (folder: string) => runGit(folder, ['commit', '--quiet', '--allow-empty', '-m', 'nothing']),
    ],
    [
      'a nested repository',
      true,
      async (folder: string) => {
        await runGit(folder, ['init', '--quiet', 'vendor/lib']);
        await writeFile(join(folder, 'vendor', 'lib', 'a'), 'a');
      },
    ],
  ])('%s: changed is %s', async (_, changed, agent) => {
    await using scene = await setScene();
    await openFresh(scene);
    const before = await scene.repository.snapshot();
    await agent(scene.folder);
    const after = await scene.repository.snapshot();
    expect(after.tree !== before.tree).toBe(changed);
    expect((await scene.repository.compare(before, after)).fileCount > 0).toBe(changed);
    expect((await scene.repository.snapshot()).tree).toBe(after.tree);
  });

  test('an unreadable index costs time, not files: tracked ones that are ignored are still there', async () => {
    await using scene = await setScene();
    await scene.write('kept.log', 'x');
    await scene.git('add', '--force', 'kept.log');
    await scene.git('commit', '--quiet', '-m', 'a tracked log');
    await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:main');
    await writeFile(join(scene.checkout, '.git', 'index'), 'rubbish');
    await openFresh(scene);
    expect((await scene.repository.snapshot()).tree).toBe(await scene.git('rev-parse', 'HEAD^{tree}'));
    expect(await scene.read('kept.log')).toBe('x');
    await scene.repository.leave();
    expect(await scene.git('status', '--porcelain')).toBe('');
  });

  test('the index of the tree is not touched', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const index = await readFile(join(scene.folder, '.git', 'index'));
    await scene.write('new.txt', 'x');
    await scene.repository.snapshot();
    expect((await readFile(join(scene.folder, '.git', 'index'))).equals(index)).toBe(true);
  });

  test('counts files, lines and the commits of the agent; names at most 200 files', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const before = await scene.repository.snapshot();
    for (let i = 100; i < 350; i++) await scene.write(`many/${i}.txt`, 'one\ntwo\n');
    await scene.write('binary.dat', Buffer.from([0, 1, 2]));
    await scene.git('add', '.');
    await scene.git('commit', '--quiet', '-m', 'one');
    await scene.git('commit', '--quiet', '--allow-empty', '-m', 'two');
    await rm(join(scene.folder, 'README.md'));
    const change = await scene.repository.compare(before, await scene.repository.snapshot());
    expect(change).toMatchObject({ fileCount: 252, insertions: 500, deletions: 3, agentCommits: 2 });
    expect(change.files).toHaveLength(200);
    expect(change.files).toEqual([...change.files].sort());
  });

  test('names of files are data: line feeds, quotes, dashes', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const before = await scene.repository.snapshot();
    for (const name of ['a\nb.txt', '--help', '"quoted"', 'ünï.txt', ':(top)x']) await scene.write(name, 'x');
    const change = await scene.repository.compare(before, await scene.repository.snapshot());
    expect(new Set(change.files)).toEqual(new Set(['a\nb.txt', '--help', '"quoted"', 'ünï.txt', ':(top)x']));
  });
});
