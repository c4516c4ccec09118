import { execFileSync } from 'node:child_process';
import { chmod, mkdir, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { git } from '../../../../testbed/git.ts';
import { BRANCH, iterate, openFresh, runGit, setScene, type Scene, TOKEN } from '../git-fixture.ts';

const CRLF = 'one\r\ntwo\r\nthree\r\n';

/** Commits and pushes files as blobs of exactly these bytes, and checks them out as in a fresh clone. */
async function seed(scene: Scene, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const id = await git(scene.folder, ['hash-object', '-w', '--stdin', '--no-filters'], { input: content });
    await scene.git('update-index', '--add', '--cacheinfo', `100644,${id},${path}`);
  }
  await scene.git('commit', '--quiet', '-m', 'files');
  await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:refs/heads/main');
  await scene.git('rm', '-r', '--cached', '--quiet', '.');
  await scene.git('clean', '-fdxq');
  await scene.git('reset', '--hard', '--quiet');
}

interface Modified {
  readonly what: string;
  readonly attributes: string;
  readonly blob: string;
  readonly config?: string;
  /** The published content after a change of its second line. */
  readonly published: string;
  readonly change: (onDisk: string) => string;
}

const changeTwo = (onDisk: string): string => onDisk.replace('two', 'TWO');

describe('a checkout that is "modified" as git makes it', () => {
  const rows: readonly Modified[] = [
    {
      what: 'a CRLF blob of a file that is text',
      attributes: '*.cs text\n',
      blob: CRLF,
      published: 'one\nTWO\nthree\n',
      change: changeTwo,
    },
    {
      what: 'a CRLF blob with eol=crlf',
      attributes: '*.cs text eol=crlf\n',
      blob: CRLF,
      published: 'one\nTWO\nthree\n',
      change: changeTwo,
    },
    {
      what: 'a CRLF blob with eol=lf',
      attributes: '*.cs text eol=lf\n',
      blob: CRLF,
      published: 'one\nTWO\nthree\n',
      change: changeTwo,
    },
    {
      what: 'an expanded ident',
      attributes: '*.cs ident\n',
      blob: '$Id: old $\none\ntwo\n',
      published: '$Id$\none\nTWO\n',
      change: changeTwo,
    },
    {
      what: 'line ends that the checkout converts',
      attributes: '*.cs text=auto\n',
      config: 'autocrlf = true',
      blob: 'one\ntwo\nthree\n',
      published: 'one\nTWO\nthree\n',
      change: changeTwo,
    },
    {
      what: 'another encoding than its blob can have',
      attributes: '*.cs text working-tree-encoding=UTF-16LE\n',
      blob: 'o',
      published: 'TWO\n',
      change: () => Buffer.from('TWO\n', 'utf16le').toString('latin1'),
    },
  ];

  test.each(rows)('$what: neither progress nor published until its content changes', async (row) => {
    await using scene = await setScene();
    if (row.config !== undefined) await scene.git('config', ...`core.${row.config}`.split(' = '));
    await seed(scene, { '.gitattributes': row.attributes, 'src/a.cs': row.blob, 'src/b.cs': row.blob });
    expect(await scene.repository.problems()).toEqual([]);
    const opened = await openFresh(scene);

    const first = await iterate(scene, () => scene.write('new.txt', 'work\n'));
    expect(first.change.files).toEqual(['new.txt']);
    expect(await scene.git('diff', '--name-only', opened.head, first.committed.head)).toBe('new.txt');
    expect(await scene.repository.putBack()).toEqual([]);

    const idle = await iterate(scene, () => utimes(join(scene.folder, 'src/a.cs'), 1, 1));
    expect(idle.change.fileCount).toBe(0);
    expect(idle.committed.commit).toBeNull();
    expect(await scene.git('diff', '--cached', '--name-only')).toBe('');

    const onDisk = await scene.read('src/a.cs');
    const third = await iterate(scene, () =>
      scene.write('src/a.cs', row.blob === 'o' ? Buffer.from('TWO\n', 'utf16le') : row.change(onDisk)),
    );
    expect(third.change.files).toEqual(['src/a.cs']);
    expect(third.committed.withheld).toEqual([]);
    expect(await runGit(scene.folder, ['cat-file', 'blob', `${third.committed.head}:src/a.cs`])).toBe(
      row.published.trimEnd(),
    );
  });

  test('what verify does to such a file is put back byte for byte, and the others are not touched', async () => {
    await using scene = await setScene();
    await seed(scene, { '.gitattributes': '*.cs text\n', 'a.cs': CRLF, 'b.cs': CRLF });
    await openFresh(scene);
    const { tree } = await scene.repository.snapshot();
    const { mtimeMs } = await stat(join(scene.folder, 'b.cs'));
    await scene.write('a.cs', 'one\r\nTWO\r\n');
    await scene.write('left.txt', 'x');
    expect(await scene.repository.putBack()).toEqual(['a.cs', 'left.txt']);
    expect(await scene.read('a.cs')).toBe(CRLF);
    expect((await stat(join(scene.folder, 'b.cs'))).mtimeMs).toBe(mtimeMs);
    expect((await scene.repository.snapshot()).tree).toBe(tree);
  });

  test('what `git add` alone makes of such a file is in none of the commits', async () => {
    await using scene = await setScene({ maxPatchFiles: 3 });
    const many = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`cs/${String(i)}.cs`, CRLF]));
    await seed(scene, { '.gitattributes': '*.cs text\n', ...many });
    const opened = await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      for (const name of ['one.txt', 'two.txt']) {
        await scene.write(name, 'work');
        await scene.git('add', '--all');
        await scene.git('commit', '--quiet', '-m', `Add ${name}`);
      }
    });
    expect(committed.withheld).toEqual([]);
    const log = await scene.git('log', '--format=%s', '--name-only', `${opened.head}..${committed.head}`);
    expect(log.split('\n').filter(Boolean)).toEqual(['Add two.txt', 'two.txt', 'Add one.txt', 'one.txt']);
  });

  test('a lane that changed such a file is checked out', async () => {
    await using scene = await setScene();
    await seed(scene, { '.gitattributes': '*.cs text\n', 'a.cs': CRLF, 'b.cs': CRLF });
    await openFresh(scene);
    const { committed } = await iterate(scene, () => scene.write('a.cs', 'one\ntwo\nnew\n'));
    await scene.git('push', '--quiet', scene.server.repositoryFolder, `${committed.head}:refs/heads/${BRANCH}`);
    await scene.repository.leave();
    await scene.git('checkout', '--quiet', '--force', 'main');

    const next = scene.reopen();
    await next.openLane({
      branch: BRANCH,
      baseBranch: 'main',
      start: { kind: 'continue', remoteHead: committed.head },
    });
    expect(await scene.read('a.cs')).toBe('one\ntwo\nnew\n');
    expect(await scene.read('b.cs')).toBe(CRLF);
    const idle = await iterate(scene, () => Promise.resolve(), next);
    expect(idle.change.fileCount).toBe(0);
    expect(idle.committed.commit).toBeNull();
  });

  test.each(['*.cs text\n', null])(
    'attributes that must not be published (%j) change no line ends',
    async (written) => {
      await using scene = await setScene({ maxPatchFiles: 3 });
      const blob = written === null ? 'one\ntwo\n' : CRLF;
      const many = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`cs/${String(i)}.cs`, blob]));
      await seed(scene, { ...(written === null ? { '.gitattributes': '*.cs text eol=crlf\n' } : {}), ...many });
      const opened = await openFresh(scene);
      const { committed } = await iterate(scene, async () => {
        if (written === null) await rm(join(scene.folder, '.gitattributes'));
        else await scene.write('.gitattributes', written);
        await scene.write('new.txt', 'work\n');
        await scene.write('cs/1.cs', 'one\r\nTWO\r\n');
      });
      expect(committed.withheld.map(({ path }) => path)).toEqual(['.gitattributes']);
      const changed = await scene.git('diff', '--name-only', opened.head, committed.head);
      expect(changed.split('\n')).toEqual(['cs/1.cs', 'new.txt']);
      const idle = await iterate(scene, () => Promise.resolve());
      expect([idle.change.fileCount, idle.committed.commit]).toEqual([0, null]);
    },
  );

  test('by settings of the person whose machine it is: the run works as git shows the checkout', async () => {
    await using scene = await setScene();
    const home = dirname(scene.checkout);
    await writeFile(join(home, '.gitconfig'), '[core]\n\tsymlinks\n\tautocrlf = true\n\texcludesFile = ~/ignored\n');
    await writeFile(join(home, 'ignored'), '*.local\n');
    await scene.git('rm', '-r', '--cached', '--quiet', '.');
    await scene.git('clean', '-fdxq');
    execFileSync('git', ['reset', '--hard', '--quiet'], { cwd: scene.checkout, env: { ...process.env, HOME: home } });
    await scene.write('a.local', 'x');
    expect(await scene.read('README.md')).toContain('\r\n');
    expect(await scene.repository.problems()).toEqual([]);
    await openFresh(scene);
    expect(await scene.read('README.md')).toContain('\r\n');
    const { change } = await iterate(scene, async () => {
      await scene.write('b.local', 'x');
      await scene.write('new.txt', 'work\r\n');
    });
    expect(change.files).toEqual(['new.txt']);
  });

  test('a submodule that a step moved is neither progress nor published', async () => {
    await using scene = await setScene();
    const library = join(scene.folder, '..', 'library');
    await mkdir(library);
    await runGit(library, ['init', '--quiet']);
    await runGit(library, ['commit', '--quiet', '--allow-empty', '-m', 'one']);
    await scene.git('-c', 'protocol.file.allow=always', 'submodule', 'add', '--quiet', library, 'vendor');
    await scene.git('commit', '--quiet', '-m', 'Add a submodule');
    await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:refs/heads/main');
    await runGit(join(scene.folder, 'vendor'), ['commit', '--quiet', '--allow-empty', '-m', 'two']);
    expect(await scene.repository.problems()).toEqual([]);
    await openFresh(scene);
    const { change, committed } = await iterate(scene, () => scene.write('new.txt', 'new'));
    expect(change.files).toEqual(['new.txt']);
    expect(committed.withheld).toEqual([]);
    expect(committed.beside).toEqual([]);
    const shown = await scene.git('show', '--format=', '--name-only', committed.head);
    expect(shown.trim()).toBe('new.txt');
    const moved = await iterate(scene, () => scene.write('vendor/more.txt', 'more'));
    expect(moved.committed.beside).toMatchObject([{ name: 'files of submodule vendor' }]);
  });

  test('a real change of a step is still named', async () => {
    await using scene = await setScene();
    await seed(scene, { '.gitattributes': '*.cs text\n', 'a.cs': CRLF, 'b.cs': CRLF });
    await scene.write('b.cs', 'one\r\n');
    expect((await scene.repository.problems()).join()).toMatch(/is not clean: b\.cs\./);
  });
});

describe('file times prove nothing', () => {
  test('on a file system that knows two seconds, a change of the same length shows', async () => {
    await using scene = await setScene();
    const write = async (text: string): Promise<void> => {
      await scene.write('data.txt', text);
      const seconds = Math.floor(Date.now() / 2000) * 2;
      await utimes(join(scene.folder, 'data.txt'), seconds, seconds);
    };
    await write('one');
    await scene.git('add', '.');
    await scene.git('commit', '--quiet', '-m', 'data');
    await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:refs/heads/main');
    await openFresh(scene);
    const first = await iterate(scene, () => write('two'));
    expect(first.change.files).toEqual(['data.txt']);
    const next = await iterate(scene, () => write('six'));
    expect(next.change.files).toEqual(['data.txt']);
  });
});

describe('names are bytes', () => {
  const odd = (scene: Scene, name: Buffer): Buffer => Buffer.concat([Buffer.from(`${scene.folder}/`), name]);
  const changedName = Buffer.from([0x63, 0x61, 0x66, 0xe9]);
  const addedName = Buffer.from([0x6e, 0x65, 0x77, 0xff, 0x2f, 0x78]);

  test('one that is not UTF-8 is left out with the reason, and the rest is published', async () => {
    await using scene = await setScene();
    await writeFile(odd(scene, changedName), 'before');
    await scene.git('add', '.');
    await scene.git('commit', '--quiet', '-m', 'odd');
    await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:refs/heads/main');
    expect(await scene.repository.problems()).toEqual([]);
    const opened = await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await writeFile(odd(scene, changedName), 'after');
      await mkdir(odd(scene, addedName.subarray(0, 4)));
      await writeFile(odd(scene, addedName), 'new');
      await scene.write('plain.txt', 'x');
    });
    const why = 'its name is not valid UTF-8';
    expect(committed.withheld).toEqual([
      { path: 'caf\u{FFFD}', why },
      { path: 'new\u{FFFD}/x', why },
    ]);
    expect(await scene.git('diff', '--name-only', opened.head, committed.head)).toBe('plain.txt');
    expect((await scene.repository.putBack()).length).toBe(0);
    await rm(odd(scene, addedName.subarray(0, 4)), { recursive: true });
    await writeFile(odd(scene, changedName), 'before');
    const undone = await iterate(scene, () => Promise.resolve());
    expect(undone.committed.withheldNow).toEqual([]);
  });

  test('what verify leaves under such a name is put back', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { tree } = await scene.repository.snapshot();
    await mkdir(odd(scene, addedName.subarray(0, 4)));
    await writeFile(odd(scene, addedName), 'new');
    expect(await scene.repository.putBack()).toEqual(['new\u{FFFD}/x']);
    await expect(stat(odd(scene, addedName))).rejects.toThrow(/ENOENT/);
    expect((await scene.repository.snapshot()).tree).toBe(tree);
  });

  test('line feeds, quotes, blanks, dashes, replacement characters and very long names are published', async () => {
    await using scene = await setScene();
    const opened = await openFresh(scene);
    const names = ['a\nb.txt', '"quoted".txt', ' blank', '-rf', '--', 'tab\there', 'x\u{FFFD}y', 'é', 'ü'.repeat(120)];
    const { committed } = await iterate(scene, async () => {
      for (const name of names) await scene.write(name, 'x');
    });
    expect(committed.withheld).toEqual([]);
    const listed = await scene.git('diff', '--name-only', '-z', opened.head, committed.head);
    expect(listed.split('\0').filter(Boolean).sort()).toEqual([...names].sort());
  });

  test('a rename that changes only the case', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { change, committed } = await iterate(scene, () =>
      rename(join(scene.folder, 'README.md'), join(scene.folder, 'Readme.md')),
    );
    expect(change.files).toEqual(['README.md', 'Readme.md']);
    expect(await scene.git('ls-tree', '--name-only', committed.head)).toContain('Readme.md');
  });

  test('where the checkout is on a file system that takes them for one, and the tree is not', async () => {
    await using scene = await setScene();
    await scene.git('config', 'core.ignorecase', 'true');
    await openFresh(scene);
    const { change } = await iterate(scene, async () => {
      await rename(join(scene.folder, 'README.md'), join(scene.folder, 'Readme.md'));
      await scene.write('ONE.txt', 'x');
      await scene.write('one.txt', 'y');
    });
    expect(change.files).toEqual(['ONE.txt', 'README.md', 'Readme.md', 'one.txt']);
  });

  test('a file that git does not take is left out with the reason', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.write('.gitattributes', '');
      await scene.write('src/.gitattributes', '*.txt working-tree-encoding=no-such\n');
      await scene.write('src/a.txt', 'x');
      await scene.write('b.txt', 'x');
    });
    expect(committed.withheld.map(({ path }) => path)).toContain('src/a.txt');
    expect(committed.publishedPaths).toEqual(['b.txt']);
  });
});

describe('what git ignores now is not there', () => {
  test('what an earlier iteration left and a later one ignores', async () => {
    await using scene = await setScene({ maxPatchFiles: 3 });
    await openFresh(scene);
    const first = await iterate(scene, async () => {
      for (let i = 0; i < 10; i += 1) await scene.write(`packages/m/${String(i)}.js`, 'x');
      await scene.write('src/work.js', 'work');
      await scene.write('tracked.tmp', 'x');
    });
    expect(first.committed.withheldNow).toHaveLength(10);
    expect(first.committed.publishedPaths).toEqual(['src/work.js', 'tracked.tmp']);
    const second = await iterate(scene, () => scene.write('.gitignore', 'packages/\n*.tmp\n'));
    expect(second.committed.withheldNow).toEqual([]);
    expect(second.change.files).toEqual(['.gitignore']);
    expect(await scene.git('ls-tree', '-r', '--name-only', second.committed.head)).toContain('tracked.tmp');
    const third = await iterate(scene, () => scene.write('tracked.tmp', 'y'));
    expect(third.committed.publishedPaths).toEqual(['tracked.tmp']);
    expect(await scene.read('packages/m/0.js')).toBe('x');
  });

  test('by a .gitignore within the folder, and what is ignored no more is there again', async () => {
    await using scene = await setScene({ maxPatchFiles: 3 });
    await openFresh(scene);
    await iterate(scene, async () => {
      for (let i = 0; i < 10; i += 1) await scene.write(`.venv/${String(i)}.py`, 'x');
    });
    const second = await iterate(scene, async () => {
      await scene.write('.venv/.gitignore', '*\n');
      await scene.write('work.txt', 'x');
    });
    expect(second.committed.withheldNow).toEqual([]);
    const third = await iterate(scene, () => rm(join(scene.folder, '.venv/.gitignore')));
    expect(third.committed.withheldNow).toHaveLength(10);
  });
});

describe('what the agent untracks and ignores leaves the branch', () => {
  test.each([
    ['by its index', false],
    ['by a commit', true],
  ])('%s', async (_, isCommitted) => {
    await using scene = await setScene();
    await seed(scene, { 'gen.txt': '1', 'node_modules/a/i.js': 'x', 'kept.log': 'x', '.gitignore': '*.log\n' });
    const { head } = await openFresh(scene);
    const untrack = async (): Promise<void> => {
      await scene.write('.gitignore', '*.log\ngen.txt\nnode_modules/\n');
      await scene.git('rm', '-r', '--quiet', '--cached', 'gen.txt', 'node_modules');
      if (isCommitted) await scene.git('commit', '--quiet', '-am', 'Untrack');
    };
    const { change, committed } = await iterate(scene, untrack);
    const gone = ['gen.txt', 'node_modules/a/i.js'];
    expect(change.files).toEqual(['.gitignore', ...gone]);
    expect(committed).toMatchObject({ withheldNow: [], publishedPaths: ['.gitignore', ...gone] });
    expect(await scene.quarantineGit('rev-list', '--count', `${head}..${committed.head}`)).toBe('1');
    expect(await scene.read('gen.txt')).toBe('1');
    expect(await scene.git('status', '--porcelain')).toBe('');
    const next = await iterate(scene, () => scene.write('gen.txt', '2'));
    expect([next.change.files, next.committed.commit]).toEqual([[], null]);
    const alone = await iterate(scene, () => scene.git('rm', '--quiet', '--cached', 'kept.log'));
    expect([alone.change.files, alone.committed.publishedPaths]).toEqual([['kept.log'], ['kept.log']]);
    expect(await scene.git('status', '--porcelain')).toBe('');
  });

  test('it stays on the disk when the work tree is put back before the commit', async () => {
    await using scene = await setScene();
    await seed(scene, { 'gen.txt': '1', 'node_modules/a/i.js': 'x' });
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.write('.gitignore', 'gen.txt\nnode_modules/\n');
      await scene.write('gen.txt', '2');
      await scene.git('rm', '-r', '--quiet', '--cached', 'gen.txt', 'node_modules');
      await scene.repository.snapshot();
      await scene.write('left-by-verify.txt', 'x');
      expect(await scene.repository.putBack()).toEqual(['left-by-verify.txt']);
    });
    expect([await scene.read('gen.txt'), await scene.read('node_modules/a/i.js')]).toEqual(['2', 'x']);
    expect(committed.publishedPaths).toEqual(['.gitignore', 'gen.txt', 'node_modules/a/i.js']);
  });

  test('a secret in a tracked file that git ignores is in no commit, also if the file was gone in between', async () => {
    await using scene = await setScene();
    await seed(scene, { 'kept.log': 'x', '.gitignore': '*.log\n' });
    const { head } = await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.git('rm', '--quiet', 'kept.log');
      await scene.git('commit', '--quiet', '-m', 'Remove');
      await scene.repository.snapshot();
      await scene.write('kept.log', TOKEN);
      await scene.git('add', '--force', 'kept.log');
      await scene.git('commit', '--quiet', '-m', 'Add');
      await scene.git('rm', '--quiet', '--cached', 'kept.log');
      await scene.git('commit', '--quiet', '-m', 'Remove again');
    });
    expect(await scene.quarantineGit('log', '-p', `${head}..${committed.head}`)).not.toContain(TOKEN);
    expect(committed.publishedPaths).toEqual(['kept.log']);
  });

  test('what it adds although git ignores it is in no commit, and is named', async () => {
    await using scene = await setScene();
    await seed(scene, { '.gitignore': '.env*\nbuild/\n' });
    const { head } = await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      for (const path of ['.env.local', 'build/a.js']) {
        await scene.write(path, 'x');
        await scene.git('add', '--force', path);
        await scene.git('commit', '--quiet', '-m', `Add ${path}`);
      }
      await scene.write('a.js', 'x');
      await scene.git('add', 'a.js');
      await scene.git('commit', '--quiet', '-m', 'Add a');
      await scene.write('b.js', 'x');
    });
    expect(committed).toMatchObject({ withheldNow: [], newlyIgnored: ['.env.local', 'build/'] });
    const listed = ['log', '--reverse', '--name-only', '--format=%s', `${head}..${committed.head}`];
    expect((await scene.quarantineGit(...listed)).split('\n').filter(Boolean)).toEqual([
      ...['Add a', 'a.js', 'Add a feature', 'b.js'],
    ]);
    expect(await scene.git('status', '--porcelain')).toBe('');
  });

  test('an index that is gone or empty untracks nothing', async () => {
    await using scene = await setScene();
    await seed(scene, { 'kept.log': 'x', '.gitignore': '*.log\n' });
    await openFresh(scene);
    const index = join(scene.folder, '.git', 'index');
    for (const lose of [() => rm(index), () => scene.git('read-tree', '--empty'), () => writeFile(index, 'DIRC')]) {
      const { committed } = await iterate(scene, async () => {
        await scene.write('a.txt', String(Math.random()));
        await lose();
      });
      expect(committed.publishedPaths).toEqual(['a.txt']);
    }
  });
});

test('an agent that checks out the base branch takes nothing of the lane away, unless it moves the branch itself', async () => {
  await using scene = await setScene();
  await openFresh(scene);
  await iterate(scene, () => scene.write('one.txt', '1\n'));
  const second = await iterate(scene, async () => {
    await scene.git('checkout', '--quiet', '-b', 'feature', 'origin/main');
    await scene.write('two.txt', '2\n');
    await scene.git('add', '.');
    await scene.git('commit', '--quiet', '-m', 'Two');
    await scene.write('three.txt', '3\n');
  });
  expect(second.change.files).toEqual(['three.txt', 'two.txt']);
  const third = await iterate(scene, () => scene.git('reset', '--quiet', '--hard', 'origin/main'));
  expect(third.change.files).toEqual(['one.txt', 'three.txt', 'two.txt']);
});

test('what an agent changes on a newer base branch is merged with the lane; where both conflict, its files stay', async () => {
  await using scene = await setScene();
  const lines = (first: string, last: string): string => [first, '2', '3', '4', '5', '6', last, ''].join('\n');
  await seed(scene, { 'both.txt': lines('1', '7'), 'same.txt': '1\n' });
  await openFresh(scene);
  await iterate(scene, async () => {
    await scene.write('both.txt', lines('ours', '7'));
    await scene.write('same.txt', 'ours\n');
  });
  const { committed } = await iterate(scene, async () => {
    await scene.git('checkout', '--quiet', 'main');
    await scene.write('both.txt', lines('1', 'theirs'));
    await scene.git('commit', '--quiet', '-am', 'Theirs');
    await scene.write('same.txt', 'theirs\n');
  });
  const textOf = (path: string): Promise<string> => scene.git('show', `${committed.head}:${path}`);
  expect(await textOf('both.txt')).toBe(lines('ours', 'theirs').trim());
  expect(await textOf('same.txt')).toBe('theirs');
});

test('the files of a repository in the repository are there as soon as its .git is gone', async () => {
  await using scene = await setScene();
  await openFresh(scene);
  const first = await iterate(scene, async () => {
    await scene.write('lib/a.txt', 'x\n');
    await runGit(join(scene.folder, 'lib'), ['init', '--quiet']);
    await runGit(join(scene.folder, 'lib'), ['add', '.']);
    await runGit(join(scene.folder, 'lib'), ['commit', '--quiet', '-m', 'x']);
  });
  expect(first.committed.withheldNow).toMatchObject([{ path: 'lib' }]);
  const second = await iterate(scene, () => rm(join(scene.folder, 'lib/.git'), { recursive: true }));
  expect(second.committed.withheldNow).toEqual([]);
  expect(second.change.files).toEqual(['lib/a.txt']);
});

describe('what verify leaves is put back or left alone', () => {
  test('repositories, closed folders, pipes, sockets and links', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { tree } = await scene.repository.snapshot();
    await mkdir(join(scene.folder, 'build/_deps/lib'), { recursive: true });
    await runGit(join(scene.folder, 'build/_deps/lib'), ['init', '--quiet']);
    await scene.write('build/_deps/lib/file.c', 'x');
    await runGit(join(scene.folder, 'build/_deps/lib'), ['add', '.']);
    await runGit(join(scene.folder, 'build/_deps/lib'), ['commit', '--quiet', '-m', 'x']);
    await mkdir(join(scene.folder, 'empty-repository'));
    await runGit(join(scene.folder, 'empty-repository'), ['init', '--quiet']);
    await scene.write('closed/file', 'x');
    await chmod(join(scene.folder, 'closed'), 0o000);
    await rm(join(scene.folder, 'README.md'));
    execFileSync('mkfifo', [join(scene.folder, 'README.md')]);
    execFileSync('mkfifo', [join(scene.folder, 'pipe')]);
    await symlink('/etc', join(scene.folder, 'link'));
    await rename(join(scene.folder, 'src'), join(scene.folder, 'moved'));
    await symlink('moved', join(scene.folder, 'src'));
    const server = createServer().listen(join(scene.folder, 'socket'));
    try {
      await scene.repository.putBack();
      expect((await scene.repository.snapshot()).tree).toBe(tree);
      expect((await stat(join(scene.folder, 'README.md'))).isFile()).toBe(true);
      expect((await stat(join(scene.folder, 'src'))).isDirectory()).toBe(true);
      await expect(stat(join(scene.folder, 'build/_deps/lib'))).rejects.toThrow(/ENOENT/);
    } finally {
      server.close();
    }
  });

  test('commits, tags and stashes: none is published, and none counts as work of the agent', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed } = await iterate(scene, () => scene.write('src/a.js', '// a\n'));
    await scene.write('report.txt', 'x\n');
    await scene.git('add', 'report.txt');
    await scene.git('commit', '--quiet', '-m', 'Formatted by verify');
    await scene.git('tag', 'by-verify');
    await scene.write('src/a.js', '// b\n');
    await scene.git('stash', '--quiet');
    expect(await scene.repository.putBack()).toEqual(['report.txt']);
    const next = await iterate(scene, () => Promise.resolve());
    expect(next.committed).toMatchObject({ head: committed.head, commit: null, beside: [], besideNow: [] });
  });
});

test('what verify or a review does is undone with its commits and its branches; what was done before it stays', async () => {
  await using scene = await setScene();
  await seed(scene, { 'a.txt': 'one\n' });
  await openFresh(scene);
  await scene.repository.snapshot();
  const own = async (path: string): Promise<void> => {
    await scene.write(path, 'x\n');
    await scene.git('add', path);
    await scene.git('commit', '--quiet', '-m', `adds ${path}`);
  };
  await own('agent.txt');
  await scene.write('open.txt', 'x\n');
  const before = await scene.repository.snapshot();
  await own('review.txt');
  await scene.git('stash', 'push', '--include-untracked', '--quiet');
  await scene.write('a.txt', 'changed\n');
  expect(await scene.repository.putBack()).toEqual(['a.txt', 'open.txt', 'review.txt']);
  expect(await scene.repository.snapshot()).toEqual(before);
  expect(await scene.git('log', '--format=%s', '-1')).toBe('adds agent.txt');
  expect(await scene.read('open.txt')).toBe('x\n');
});
