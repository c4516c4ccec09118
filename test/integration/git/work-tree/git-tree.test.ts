import { execFileSync } from 'node:child_process';
import { chmod, link, mkdir, readFile, readdir, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { git } from '../../../../testbed/git.ts';
import { BRANCH, iterate, openFresh, reachByFolder, runGit, setScene, stateOf, type Scene } from '../git-fixture.ts';

reachByFolder();

const unaborted = new AbortController().signal;

/** Opens a fresh lane and lays both trees of a run. */
async function layBoth(scene: Scene, repository = scene.repository): Promise<readonly [work: string, clean: string]> {
  const { base } = await openFresh(scene, repository);
  return [scene.folder, await repository.checkOutCommitAlone(base, unaborted)];
}

async function refsOf(scene: Scene): Promise<readonly string[]> {
  return (await scene.git('for-each-ref')).split('\n');
}

async function publish(scene: Scene): Promise<void> {
  await scene.git('add', '--all');
  await scene.git('commit', '--quiet', '-m', 'files');
  await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:main');
}

describe('the checkout is the job’s own until the tree is left', () => {
  /** Makes any changes that an agent may make to its tree and its git directory. */
  async function work(scene: Scene): Promise<void> {
    await scene.write('new.txt', 'new');
    await scene.write('src/sum.js', '// changed');
    await scene.write('node_modules/pkg/index.js', 'changed');
    await rm(join(scene.folder, 'README.md'));
    await chmod(join(scene.folder, 'package.json'), 0o600);
    await scene.git('config', 'core.fsmonitor', '/bin/false');
    await scene.git('tag', 'of-the-agent');
    await scene.git('update-ref', '-d', 'refs/remotes/origin/main');
    await scene.git('reflog', 'expire', '--expire=now', '--all');
    await scene.git('gc', '--quiet', '--prune=now');
    await rm(join(scene.folder, '.git', 'objects'), { recursive: true });
  }

  async function setCheckout(): Promise<Scene> {
    const scene = await setScene();
    await scene.write('.git/info/exclude', 'node_modules/\n');
    await scene.write('node_modules/pkg/index.js', 'installed');
    await scene.write('stashed.txt', 'stashed');
    await scene.git('stash', '--quiet', '--include-untracked');
    await scene.git('config', 'http.extraheader', 'AUTHORIZATION: basic c2VjcmV0');
    await scene.git('status');
    return scene;
  }

  test('in every byte, mode, owner and time: so it is whenever a run is killed, and the next one begins with it', async () => {
    await using scene = await setCheckout();
    const before = stateOf(scene.checkout);
    const unchanged = (): void => {
      expect(stateOf(scene.checkout)).toEqual(before);
    };
    const { base } = await openFresh(scene);
    unchanged();
    const { committed } = await iterate(scene, () => work(scene));
    unchanged();
    await scene.repository.checkOutCommitAlone(committed.head, unaborted);
    unchanged();
    await scene.write('left.txt', 'x');
    await scene.repository.putBack();
    await scene.repository.commitTexts({ texts: { 'notes.md': 'x' }, message: 'Tidy', trailers: {} });
    unchanged();
    // The test does not call `leave()`.
    expect(await runGit(scene.checkout, ['--no-optional-locks', 'status', '--porcelain'])).toBe('');
    expect(await runGit(scene.checkout, ['symbolic-ref', '--short', 'HEAD'])).toBe('main');
    await runGit(scene.checkout, ['fsck', '--strict']);

    const next = scene.reopen();
    expect(await next.problems()).toEqual([]);
    expect(await openFresh(scene, next)).toMatchObject({ head: base });
    expect(await scene.read('node_modules/pkg/index.js')).toBe('installed');
    expect(await scene.git('status', '--porcelain')).toBe('');
    unchanged();
  });

  test('settings that fit only the git directory of the checkout are not in the tree', async () => {
    await using scene = await setScene();
    await scene.git('config', 'user.name', 'Somebody');
    // Older versions of git ignore the setting.
    await scene
      .git('refs', 'migrate', '--ref-format=reftable')
      .catch(() => scene.git('config', 'extensions.refStorage', 'reftable'));
    await openFresh(scene);
    expect(await scene.read('.git/config')).toMatch(/name = Somebody/);
    expect(await scene.read('.git/config')).not.toMatch(/reftable/i);
    expect(await scene.git('symbolic-ref', '--short', 'HEAD')).toBe(BRANCH);
  });

  test('and then a plain checkout of what is published, with all else as it was', async () => {
    await using scene = await setCheckout();
    const refs = await refsOf(scene);
    const config = await scene.read('.git/config');
    const outside = /^\.git$|^new\.txt$|^src\/sum\.js$|^README\.md$/;
    const before = stateOf(scene.checkout, outside);
    await openFresh(scene);
    const tree = scene.folder;
    const { committed } = await iterate(scene, () => work(scene));
    await scene.repository.leave();
    await expect(stat(tree)).rejects.toThrow('ENOENT');
    expect(stateOf(scene.checkout, outside)).toEqual(before);
    expect(await scene.git('symbolic-ref', '--short', 'HEAD')).toBe(BRANCH);
    expect(await scene.git('rev-parse', 'HEAD')).toBe(committed.head);
    expect(await scene.git('status', '--porcelain')).toBe('');
    expect(await scene.read('new.txt')).toBe('new');
    expect(await scene.read('src/sum.js')).toBe('// changed');
    await expect(scene.read('README.md')).rejects.toThrow('ENOENT');
    expect((await refsOf(scene)).filter((ref) => !ref.endsWith(BRANCH))).toEqual(refs);
    expect(await scene.read('.git/config')).toBe(config);
    await scene.git('fsck', '--strict');
    await scene.git('stash', 'pop', '--quiet');
    expect(await scene.read('stashed.txt')).toBe('stashed');
    await scene.repository.leave();
  });

  test.each([
    ['also where folders take the place of links and files', false],
    ['but not where git would ignore the folder in the place of a link', true],
  ])('%s', async (_, isIgnored) => {
    await using scene = await setScene();
    if (isIgnored) await scene.write('.gitignore', 'link/\n');
    await scene.write('a', 'file');
    await symlink('a', join(scene.checkout, 'link'));
    await publish(scene);
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await Promise.all(['a', 'link', '.gitignore'].map((name) => rm(join(scene.folder, name), { force: true })));
      await scene.write('a/b', 'of the agent');
      await scene.write('link/deep/c', 'of the agent');
    });
    expect(committed.publishedPaths).toContain('link/deep/c');
    await scene.repository.leave();
    if (isIgnored) expect(await scene.read('link')).toBe('file');
    else expect(await scene.git('rev-parse', 'HEAD')).toBe(committed.head);
    expect(await scene.git('status', '--porcelain')).toBe('');
  });

  // A step that stores a cache when the job ends would otherwise store files of the agent.
  test.each([
    ['in the place of a file that git ignores', '.gitignore', '.gitignore', 'setup.txt'],
    ['beside files that git ignores', '.gitignore', '.gitignore', 'new.setup.txt'],
    ["where the checkout's own list ignores files", '.git/info/exclude', null, 'setup.txt'],
  ])('but not where something is published %s', async (_, list, removed, path) => {
    await using scene = await setScene();
    await scene.write(list, '*setup.txt\n');
    if (removed !== null) await publish(scene);
    await scene.write('setup.txt', 'of the job');
    const before = stateOf(scene.checkout, /^\.git$/);
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await rm(join(scene.folder, removed ?? list), { force: true });
      await scene.write(path, 'of the agent');
      if (removed === null) await scene.write('.gitignore', `!${path}\n`);
    });
    expect(committed.publishedPaths).toContain(path);
    await scene.repository.leave();
    expect(stateOf(scene.checkout, /^\.git$/)).toEqual(before);
  });
});

describe('a tree has what the checkout has', () => {
  test('tags, branches, `origin/main` and all of the history', async () => {
    await using scene = await setScene();
    await scene.git('tag', '-a', 'v1.2.0', '-m', 'first');
    await scene.git('branch', 'other');
    await scene.write('more.txt', 'x');
    await publish(scene);
    const commits = await scene.git('rev-list', '--count', 'HEAD');
    expect(Number(commits)).toBeGreaterThan(1);
    for (const tree of await layBoth(scene)) {
      expect(await runGit(tree, ['describe', '--tags'])).toMatch(/^v1\.2\.0-1-g/);
      expect(await runGit(tree, ['cat-file', '-t', 'v1.2.0'])).toBe('tag');
      expect(await runGit(tree, ['rev-list', '--count', 'HEAD'])).toBe(commits);
      expect(await runGit(tree, ['rev-parse', 'origin/main', 'HEAD~1'])).toBe(
        await runGit(scene.checkout, ['rev-parse', 'main', 'other']),
      );
      expect(await runGit(tree, ['diff', '--stat', 'other'])).toContain('more.txt');
      expect(await runGit(tree, ['log', '-p', '--follow', '--format=%s', 'README.md'])).toContain('README.md');
      expect(await runGit(tree, ['status', '--porcelain'])).toBe('');
      await runGit(tree, ['fsck', '--strict']);
    }
    expect(await scene.git('symbolic-ref', '--short', 'HEAD')).toBe(BRANCH);
  });

  test('`origin/main` as it is now, where it has moved since the job checked out', async () => {
    await using scene = await setScene();
    const old = await scene.git('rev-parse', 'HEAD');
    await scene.write('more.txt', 'x');
    await publish(scene);
    const moved = await scene.git('rev-parse', 'HEAD');
    await scene.git('reset', '--quiet', '--hard', old);
    await scene.git('update-ref', 'refs/remotes/origin/main', old);
    for (const tree of await layBoth(scene)) {
      expect(await runGit(tree, ['rev-parse', 'HEAD', 'origin/main'])).toBe(`${moved}\n${moved}`);
      expect(await readFile(join(tree, 'more.txt'), 'utf8')).toBe('x');
    }
    expect(await runGit(scene.checkout, ['rev-parse', 'origin/main'])).toBe(old);
  });

  test('line ends as its attributes and settings want them, files of git-lfs, and submodules', async () => {
    await using scene = await setScene();
    await scene.git('config', 'core.autocrlf', 'true');
    const texts = {
      '.gitattributes': '*.bin filter=lfs -text\n*.sh eol=lf\n*.txt text=auto\n',
      'a.txt': 'a\nb\n',
      'b.sh': 'a\nb\n',
    };
    for (const [path, text] of Object.entries(texts)) await scene.write(path, text);
    await scene.write('large.bin', 'pointer');
    const lib = join(scene.checkout, '..', 'lib.git');
    await runGit(dirname(lib), ['clone', '--quiet', '--bare', scene.server.repositoryFolder, lib]);
    await scene.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', lib, 'lib');
    await publish(scene);
    // A new clone, with git-lfs, has these texts.
    await scene.git('rm', '--quiet', '--cached', ...Object.keys(texts));
    for (const path of Object.keys(texts)) await rm(join(scene.checkout, path));
    await scene.git('reset', '--quiet', '--hard');
    await mkdir(join(scene.checkout, '.git', 'lfs'));
    await scene.write('large.bin', 'the large content');
    const paths = [...Object.keys(texts), 'large.bin', 'lib/README.md'];
    const read = (folder: string): Promise<readonly string[]> =>
      Promise.all(paths.map((path) => readFile(join(folder, path), 'utf8')));
    const inCheckout = await read(scene.checkout);
    expect(inCheckout[1]).toBe('a\r\nb\r\n');
    const head = await runGit(join(scene.checkout, 'lib'), ['rev-parse', 'HEAD']);
    const before = stateOf(scene.checkout, /^\.git$/);
    for (const tree of await layBoth(scene)) {
      expect(await read(tree)).toEqual(inCheckout);
      // The submodule is a separate repository that the agent may inspect.
      expect(await runGit(join(tree, 'lib'), ['rev-parse', '--show-toplevel', 'HEAD'])).toBe(
        `${join(tree, 'lib')}\n${head}`,
      );
      expect(await runGit(join(tree, 'lib'), ['status', '--porcelain'])).toBe('');
    }
    const { change } = await iterate(scene, () => scene.write('lib/README.md', 'changed by the agent'));
    expect(change.fileCount).toBe(0);
    await scene.repository.leave();
    expect(stateOf(scene.checkout, /^\.git$/)).toEqual(before);
  });

  test('what else is in a .ralph/ that git ignores as a whole, without the state of the loop', async () => {
    await using scene = await setScene();
    await scene.write('.git/info/exclude', '.ralph\n');
    const kept = ['.ralph/AGENT.md', '.ralph/specs/cart.md', 'packages/a/.ralph/AGENT.md'];
    const loops = [
      '.ralph/state/queue.1.json',
      '.ralph/logs/run.log',
      '.ralph/status.json',
      'packages/a/.ralph/state/x',
    ];
    for (const path of [...kept, ...loops]) await scene.write(path, path);
    for (const tree of await layBoth(scene)) {
      for (const path of kept) expect(await readFile(join(tree, path), 'utf8')).toBe(path);
      for (const path of loops) await expect(stat(join(tree, path))).rejects.toThrow('ENOENT');
    }
  });

  test('ignored files under odd names', async () => {
    await using scene = await setScene();
    await scene.write('.git/info/exclude', '*.log\n/-folder/\n');
    const names = [
      '-C.log',
      '--checkpoint=1.log',
      'new\nline.log',
      'a\\tb.log',
      '*.log',
      '"q".log',
      ' .log',
      'ä.log',
      '-folder/x',
    ];
    for (const name of names) await scene.write(name, name);
    const bytes = Buffer.from('caf\xe9.log', 'latin1');
    await writeFile(Buffer.concat([Buffer.from(`${scene.checkout}/`), bytes]), 'not UTF-8');
    for (const tree of await layBoth(scene)) {
      for (const name of names) expect(await readFile(join(tree, name), 'utf8')).toBe(name);
      expect(await readFile(Buffer.concat([Buffer.from(`${tree}/`), bytes]), 'utf8')).toBe('not UTF-8');
    }
  });

  test('links, and nothing by which a write would reach the checkout', async () => {
    await using scene = await setScene();
    const { checkout } = scene;
    await scene.write('.git/info/exclude', 'store/\nlinks/\n');
    await scene.write('store/one', 'before');
    await link(join(checkout, 'store', 'one'), join(checkout, 'store', 'two'));
    const lone = join(checkout, '..', 'elsewhere');
    await writeFile(lone, 'before');
    await link(lone, join(checkout, 'store', 'three'));
    await mkdir(join(checkout, 'links'));
    const links = {
      absolute: join(checkout, 'store', 'one'),
      relative: '../store/two',
      top: checkout,
      out: '/usr/bin',
      lost: 'nowhere',
    };
    for (const [name, to] of Object.entries(links)) await symlink(to, join(checkout, 'links', name));
    const before = stateOf(checkout);
    for (const tree of await layBoth(scene)) {
      const found = await Promise.all(Object.keys(links).map((name) => readlink(join(tree, 'links', name))));
      expect(found).toEqual([join(tree, 'store', 'one'), '../store/two', tree, '/usr/bin', 'nowhere']);
      for (const path of ['links/absolute', 'links/relative', 'store/three', 'links/top/README.md'])
        await writeFile(join(tree, path), 'after');
      // Hard links stay hard links in the tree.
      expect(await readFile(join(tree, 'store/one'), 'utf8')).toBe('after');
    }
    expect(stateOf(checkout)).toEqual(before);
    expect(await readFile(lone, 'utf8')).toBe('before');
  });

  test('modes of files, whatever the mask of the process', async () => {
    await using scene = await setScene();
    await scene.write('.git/info/exclude', 'bin/\n');
    await scene.write('bin/tool', '#!/bin/sh\n');
    await scene.write('src/run.sh', '#!/bin/sh\n');
    await chmod(join(scene.checkout, 'src/run.sh'), 0o755);
    await publish(scene);
    await chmod(join(scene.checkout, 'bin/tool'), 0o751);
    const before = stateOf(scene.checkout);
    const mask = process.umask(0o077);
    try {
      for (const tree of await layBoth(scene)) {
        expect((await stat(join(tree, 'bin/tool'))).mode & 0o777).toBe(0o751);
        expect((await stat(join(tree, 'src/run.sh'))).mode & 0o111).not.toBe(0);
        expect(await runGit(tree, ['status', '--porcelain'])).toBe('');
      }
    } finally {
      process.umask(mask);
    }
    expect(stateOf(scene.checkout)).toEqual(before);
  });

  test('the default branch of `origin` by its name', async () => {
    await using scene = await setScene();
    expect(await scene.git('symbolic-ref', 'refs/remotes/origin/HEAD')).toBe('refs/remotes/origin/main');
    for (const tree of await layBoth(scene))
      expect(await runGit(tree, ['symbolic-ref', 'refs/remotes/origin/HEAD'])).toBe('refs/remotes/origin/main');
  });

  test('no `.git` that leads into the checkout, from submodules and work trees in it neither', async () => {
    await using scene = await setScene();
    await scene.write('.git/info/exclude', '/.worktrees/\n');
    await scene.git('worktree', 'add', '--quiet', '-b', 'side', '.worktrees/side');
    await scene.git(
      '-c',
      'protocol.file.allow=always',
      'submodule',
      '--quiet',
      'add',
      scene.server.repositoryFolder,
      'lib',
    );
    await publish(scene);
    await writeFile(join(scene.checkout, 'lib', '.git'), `gitdir: ${join(scene.checkout, '.git', 'modules', 'lib')}\n`);
    const before = stateOf(scene.checkout);
    for (const tree of await layBoth(scene))
      for (const path of ['.worktrees/side', 'lib']) {
        expect(await readFile(join(tree, path, '.git'), 'utf8')).not.toContain(`${scene.checkout}/`);
        await runGit(join(tree, path), ['commit', '--quiet', '--allow-empty', '-m', 'of the agent']).catch(
          () => undefined,
        );
      }
    expect(stateOf(scene.checkout)).toEqual(before);
  });

  test("no loop’s state, no stash and no ref of Ralph's", async () => {
    await using scene = await setScene();
    await scene.write('.git/info/exclude', '.ralph/state/\n');
    await scene.write('.ralph/PROMPT.md', 'x');
    await publish(scene);
    await scene.write('.ralph/state/queue.json', '{}');
    await scene.write('stashed.txt', 'x');
    await scene.git('stash', '--quiet', '--include-untracked');
    await scene.git('update-ref', 'refs/ralph/backup/x', 'HEAD');
    for (const tree of await layBoth(scene)) {
      await expect(stat(join(tree, '.ralph', 'state'))).rejects.toThrow('ENOENT');
      expect(await runGit(tree, ['for-each-ref', '--format=%(refname)'])).not.toMatch(/stash|refs\/ralph\//);
    }
  });
});

describe('whatever the checkout is, it is never where the work is done', () => {
  test('a linked work tree of another repository', async () => {
    await using scene = await setScene();
    const linked = join(scene.checkout, '..', 'linked');
    await scene.write('.git/info/exclude', 'cache/\n');
    await scene.git('worktree', 'add', '--quiet', '-b', 'side', linked, 'main');
    await mkdir(join(linked, 'cache'));
    await writeFile(join(linked, 'cache', 'x'), 'cached');
    const main = stateOf(scene.checkout);
    const before = stateOf(linked);
    const repository = scene.reopenIn(linked);
    expect(await repository.problems()).toEqual([]);
    const [tree, clean] = await layBoth(scene, repository);
    for (const folder of [tree, clean]) {
      expect(await readFile(join(folder, 'cache', 'x'), 'utf8')).toBe('cached');
      expect((await stat(join(folder, '.git'))).isDirectory()).toBe(true);
      expect(await runGit(folder, ['rev-parse', 'side', 'origin/main'])).toMatch(/^(\S+)\n\1$/);
    }
    const { committed } = await iterate(scene, () => scene.write('new.txt', 'new'), repository);
    expect(stateOf(linked)).toEqual(before);
    expect(stateOf(scene.checkout)).toEqual(main);
    await repository.leave();
    expect(await runGit(linked, ['rev-parse', 'HEAD', BRANCH])).toBe(`${committed.head}\n${committed.head}`);
    expect(await runGit(linked, ['status', '--porcelain'])).toBe('');
    expect(await readFile(join(linked, 'new.txt'), 'utf8')).toBe('new');
    // The work tree beside it has another branch and other files.
    expect(await runGit(scene.checkout, ['status', '--porcelain', '--branch'])).toBe('## main...origin/main');
  });

  test('a linked work tree with a submodule', async () => {
    await using scene = await setScene();
    await scene.git(
      '-c',
      'protocol.file.allow=always',
      'submodule',
      '--quiet',
      'add',
      scene.server.repositoryFolder,
      'lib',
    );
    await publish(scene);
    const linked = join(scene.checkout, '..', 'linked');
    await scene.git('worktree', 'add', '--quiet', '-b', 'side', linked, 'main');
    await runGit(linked, ['-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'update', '--init']);
    const before = stateOf(linked);
    for (const tree of await layBoth(scene, scene.reopenIn(linked))) {
      expect(await runGit(tree, ['status', '--porcelain'])).toBe('');
      expect(await runGit(join(tree, 'lib'), ['status', '--porcelain'])).toBe('');
    }
    expect(stateOf(linked)).toEqual(before);
  });

  test('a submodule of another one', async () => {
    await using scene = await setScene();
    const outer = join(scene.checkout, '..', 'outer');
    await runGit(dirname(outer), ['init', '--quiet', outer]);
    await runGit(outer, [
      '-c',
      'protocol.file.allow=always',
      'submodule',
      '--quiet',
      'add',
      scene.server.repositoryFolder,
      'inner',
    ]);
    await runGit(outer, ['commit', '--quiet', '-m', 'outer']);
    const inner = join(outer, 'inner');
    const before = stateOf(outer);
    const repository = scene.reopenIn(inner);
    expect(await repository.problems()).toEqual([]);
    const [tree, clean] = await layBoth(scene, repository);
    for (const folder of [tree, clean]) {
      expect(await runGit(folder, ['rev-parse', '--show-toplevel'])).toBe(folder);
      expect(await runGit(folder, ['status', '--porcelain'])).toBe('');
    }
    const { committed } = await iterate(scene, () => scene.write('new.txt', 'new'), repository);
    expect(stateOf(outer)).toEqual(before);
    await repository.leave();
    expect(await runGit(inner, ['rev-parse', 'HEAD'])).toBe(committed.head);
    expect(await runGit(inner, ['status', '--porcelain'])).toBe('');
    expect(await runGit(outer, ['status', '--porcelain'])).toBe(' M inner');
  });

  test('one whose files are gone while the agent works: what is published is safe, and the run ends as usual', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed } = await iterate(scene, () => scene.write('new.txt', 'new'));
    await rm(join(scene.checkout, '.git'), { recursive: true });
    await scene.repository.leave();
    expect(await scene.remote().push({ branch: BRANCH, commit: committed.head, start: { kind: 'fresh' } })).toEqual({
      kind: 'pushed',
    });
  });
});

test('a tree that is laid once more has nothing of the one before, whatever was done to it', async () => {
  await using scene = await setScene();
  const [, clean] = await layBoth(scene);
  const { base } = await openFresh(scene);
  await mkdir(join(clean, 'closed', 'deep'), { recursive: true });
  await writeFile(join(clean, 'closed', 'deep', 'x'), 'x');
  execFileSync('mkfifo', [join(clean, 'pipe')]);
  await git(clean, ['config', 'core.fsmonitor', '/bin/false']);
  await chmod(join(clean, 'closed', 'deep'), 0);
  await chmod(join(clean, 'closed'), 0);
  expect(await scene.repository.checkOutCommitAlone(base, unaborted)).toBe(clean);
  expect((await readdir(clean)).sort()).toEqual((await readdir(scene.checkout)).sort());
  expect(await runGit(clean, ['config', '--list'])).not.toContain('fsmonitor');
});
