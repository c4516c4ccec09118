import { writeFileSync } from 'node:fs';
import { access, chmod, mkdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { BRANCH, iterate, messageFor, openFresh, reachByFolder, setScene, type Scene } from './git-fixture.ts';

reachByFolder();

const push = (scene: Scene, commit: string) =>
  scene.remote().push({ branch: BRANCH, commit, start: { kind: 'fresh' } });

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const unaborted = new AbortController().signal;

/** Makes an agent's commit of a tree that git itself would not create. */
async function commitEntry(scene: Scene, entry: string): Promise<void> {
  const { spawnSync } = await import('node:child_process');
  const made = spawnSync('git', ['mktree'], { cwd: scene.folder, input: entry });
  const tree = made.stdout.toString().trim();
  expect(tree).toMatch(/^[0-9a-f]{40}$/);
  const commit = await scene.git('commit-tree', tree, '-p', 'HEAD', '-m', 'odd');
  await scene.git('update-ref', 'HEAD', commit);
}

test('a path with a colon is read like any other', async () => {
  const odd = join(tmpdir(), 'a:b');
  await mkdir(odd, { recursive: true });
  vi.stubEnv('TMPDIR', odd);
  await using scene = await setScene().finally(() => vi.unstubAllEnvs());
  await openFresh(scene);
  const { committed } = await iterate(scene, () => scene.write('a.txt', 'a'));
  expect(await push(scene, committed.head)).toEqual({ kind: 'pushed' });
});

describe('what the agent committed comes in hashed and checked', () => {
  test.each(['.GIT', '.git', '..', 'GIT~1', '.g\u200Cit'])('a tree with %j does not come in', async (name) => {
    await using scene = await setScene();
    await openFresh(scene);
    const blob = await scene.git('rev-parse', 'HEAD:README.md');
    const hooks = await scene.git('rev-parse', 'HEAD^{tree}');
    const { committed } = await iterate(scene, () =>
      commitEntry(scene, `100644 blob ${blob}\tREADME.md\n040000 tree ${hooks}\t${name}\n`),
    );
    if (committed.commit !== null) expect(await push(scene, committed.head)).toEqual({ kind: 'pushed' });
    const everything = committed.commit === null ? '' : await scene.serverGit('ls-tree', '-r', '--name-only', BRANCH);
    expect(everything).not.toContain(name);
  });

  test('an object whose content does not match its id is not published, whatever its content is', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.write('good.txt', 'good');
      await scene.git('add', '.');
      await scene.git('commit', '--quiet', '-m', 'good');
      const id = await scene.git('rev-parse', 'HEAD:good.txt');
      const path = join(scene.folder, '.git', 'objects', id.slice(0, 2), id.slice(2));
      const { deflateSync } = await import('node:zlib');
      await rm(path, { force: true });
      await writeFile(path, deflateSync(Buffer.from('blob 4\0evil')));
    });
    expect(await push(scene, committed.head)).toEqual({ kind: 'pushed' });
    expect(await scene.serverGit('show', `${BRANCH}:good.txt`)).toBe('good');
  });

  test('objects behind alternates are copied, and hashed on the way', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    let outside = join(scene.workFolder, '..', 'elsewhere-0');
    const { committed } = await iterate(scene, async () => {
      await scene.write('a.txt', 'a');
      await scene.git('add', '.');
      await scene.git('commit', '--quiet', '-m', 'a');
      // The links are six levels deep; git follows five.
      for (let level = 1; level <= 6; level += 1) {
        const next = join(scene.workFolder, '..', `elsewhere-${String(level)}`);
        await mkdir(join(next, 'info'), { recursive: true });
        await mkdir(join(outside, 'info'), { recursive: true });
        await writeFile(join(outside, 'info', 'alternates'), `${next}\n`);
        outside = next;
      }
      await writeFile(
        join(scene.folder, '.git', 'objects', 'info', 'alternates'),
        `${join(scene.workFolder, '..', 'elsewhere-0')}\n`,
      );
    });
    expect(await push(scene, committed.head)).toEqual({ kind: 'pushed' });
    expect(await isThere(join(scene.workFolder, 'quarantine', 'objects', 'info', 'alternates'))).toBe(false);
    expect(await scene.serverGit('show', `${BRANCH}:a.txt`)).toBe('a');
  });

  test('a commit-graph that lies about the past changes nothing', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.write('a.txt', 'a');
      await scene.git('add', '.');
      await scene.git('commit', '--quiet', '-m', 'a');
      await scene.git('commit-graph', 'write', '--reachable');
      const path = join(scene.folder, '.git', 'objects', 'info', 'commit-graph');
      const graph = await readFile(path);
      await rm(path, { force: true });
      await writeFile(path, graph.fill(0, graph.length - 60, graph.length - 20));
    });
    expect(await push(scene, committed.head)).toEqual({ kind: 'pushed' });
    expect(await scene.serverGit('rev-list', '--count', `main..${BRANCH}`)).toBe('1');
  });
});

describe('the restored work tree after a verification', () => {
  test('files in a folder that may not be written', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { tree } = await scene.repository.snapshot();
    await scene.write('cache/module/file.txt', 'x');
    await chmod(join(scene.folder, 'cache', 'module'), 0o555);
    await chmod(join(scene.folder, 'cache'), 0o555);
    expect(await scene.repository.putBack()).toEqual(['cache/module/file.txt']);
    expect((await scene.repository.snapshot()).tree).toBe(tree);
  });

  test('a file that a process keeps changing is left alone, and does not end the run', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    await scene.repository.snapshot();
    await scene.write('coverage/report.txt', 'x');
    let text = 'changed by a process that verify left behind';
    const writing = setInterval(() => {
      writeFileSync(join(scene.folder, 'README.md'), (text += '.'));
    }, 1);
    try {
      expect(await scene.repository.putBack()).toEqual(['README.md', 'coverage/report.txt']);
      await expect(stat(join(scene.folder, 'coverage'))).rejects.toThrow(/ENOENT/);
    } finally {
      clearInterval(writing);
    }
  });

  test('changed, removed and new files, but nothing that git ignores', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const before = await scene.repository.snapshot();
    await scene.write('.gitignore', 'cache/\n');
    await scene.write('work.txt', 'work');
    const after = await scene.repository.snapshot();
    await scene.repository.commit(messageFor(before, after));
    await scene.write('coverage/report.txt', 'x');
    await scene.write('cache/kept.txt', 'x');
    await scene.write('work.txt', 'changed by a test');
    await rm(join(scene.folder, 'README.md'));
    expect(await scene.repository.putBack()).toEqual(['README.md', 'coverage/report.txt', 'work.txt']);
    expect(await scene.read('work.txt')).toBe('work');
    expect(await isThere(join(scene.folder, 'README.md'))).toBe(true);
    expect(await isThere(join(scene.folder, 'coverage', 'report.txt'))).toBe(false);
    expect(await isThere(join(scene.folder, 'cache', 'kept.txt'))).toBe(true);
    expect((await scene.repository.snapshot()).tree).toBe(after.tree);
    expect(await scene.repository.putBack()).toEqual([]);
  });
});

describe('a clean tree', () => {
  test('has the commit, and of ignored files those that the checkout has', async () => {
    await using scene = await setScene();
    await scene.write('.git/info/exclude', 'node_modules/\n*.log\n');
    await scene.write('node_modules/pkg/index.js', 'before');
    await symlink('index.js', join(scene.folder, 'node_modules', 'pkg', 'link.js'));
    const { base } = await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.write('work.txt', 'work');
      await scene.write('pass.log', 'x');
      await scene.write('node_modules/pkg/index.js', 'changed by the agent');
    });
    await scene.write('uncommitted.txt', 'x');
    const folder = await scene.repository.checkOutCommitAlone(committed.head, unaborted);
    const read = (path: string): Promise<string> => readFile(join(folder, path), 'utf8').catch(() => 'absent');
    expect(
      await Promise.all(['work.txt', 'node_modules/pkg/link.js', 'pass.log', 'uncommitted.txt'].map(read)),
    ).toEqual(['work', 'before', 'absent', 'absent']);
    const again = await scene.repository.checkOutCommitAlone(base, unaborted);
    expect(again).toBe(folder);
    expect(await Promise.all(['work.txt', 'node_modules/pkg/index.js'].map(read))).toEqual(['absent', 'before']);
  });

  test('has ignored files under odd names, and none in the place of a file of the commit', async () => {
    await using scene = await setScene();
    await scene.write('.git/info/exclude', '*.log\n');
    const odd = ['-C.log', 'a\\tb.log', '*.log', 'new\nline.log', 'ä ö.log', 'deep/er/--checkpoint=1.log'];
    await scene.write('.gitignore', 'setup.txt\n');
    await scene.git('add', '.gitignore');
    await scene.git('commit', '--quiet', '-m', 'ignore');
    await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:main');
    for (const path of [...odd, 'setup.txt']) await scene.write(path, 'before');
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await rm(join(scene.folder, '.gitignore'));
      await scene.write('setup.txt', 'published');
    });
    const folder = await scene.repository.checkOutCommitAlone(committed.head, unaborted);
    const read = (path: string): Promise<string> => readFile(join(folder, path), 'utf8').catch(() => 'absent');
    expect(await Promise.all(odd.map(read))).toEqual(odd.map(() => 'before'));
    expect(await read('setup.txt')).toBe('published');
  });

  test('names itself where what was installed names the work tree', async () => {
    await using scene = await setScene();
    const { folder: top } = scene;
    await scene.write('.git/info/exclude', '.venv/\nlinked\nlink-out\n');
    const texts = {
      '.venv/bin/check': `#!${top}/.venv/bin/python\nprint("${top}/.venv")\n`,
      '.venv/bin/binary': `${top}/.venv\0`,
      '.venv/pyvenv.cfg': `home = /usr/bin\ncommand = /usr/bin/python3 -m venv ${top}/.venv\n`,
      '.venv/lib/site-packages/shop.pth': `${top}/src\n${top}-other/src\n/elsewhere${top}/src\n`,
      '.venv/lib/site-packages/shop.egg-link': `${top}\n`,
      '.venv/lib/site-packages/__editable___shop_finder.py': `MAPPING = {'shop': '${top}/src/shop'}\n`,
      '.venv/lib/notes.txt': `${top}\n`,
    };
    for (const [path, text] of Object.entries(texts)) await scene.write(path, text);
    await chmod(join(top, '.venv/bin/check'), 0o755);
    await symlink(join(top, 'src'), join(top, '.venv', 'absolute'));
    await symlink('bin', join(top, '.venv', 'relative'));
    await symlink(top, join(top, 'linked'));
    await symlink('/usr/bin', join(top, 'link-out'));
    const { base } = await openFresh(scene);
    const folder = await scene.repository.checkOutCommitAlone(base, unaborted);
    const inTree = Object.fromEntries(
      await Promise.all(Object.keys(texts).map(async (path) => [path, await readFile(join(folder, path), 'utf8')])),
    ) as unknown;
    expect(inTree).toEqual({
      ...texts,
      '.venv/bin/check': `#!${folder}/.venv/bin/python\nprint("${folder}/.venv")\n`,
      '.venv/pyvenv.cfg': `home = /usr/bin\ncommand = /usr/bin/python3 -m venv ${folder}/.venv\n`,
      '.venv/lib/site-packages/shop.pth': `${folder}/src\n${top}-other/src\n/elsewhere${top}/src\n`,
      '.venv/lib/site-packages/shop.egg-link': `${folder}\n`,
      '.venv/lib/site-packages/__editable___shop_finder.py': `MAPPING = {'shop': '${folder}/src/shop'}\n`,
    });
    expect((await stat(join(folder, '.venv/bin/check'))).mode & 0o777).toBe(0o755);
    const links = ['.venv/absolute', '.venv/relative', 'linked', 'link-out'].map((path) =>
      readlink(join(folder, path)),
    );
    expect(await Promise.all(links)).toEqual([join(folder, 'src'), 'bin', folder, '/usr/bin']);
  });

  test('is not waited for by a run that is cancelled', async () => {
    await using scene = await setScene();
    await scene.write('.git/info/exclude', '*.log\n');
    await scene.write('x.log', 'x');
    const { base } = await openFresh(scene);
    await expect(scene.repository.checkOutCommitAlone(base, AbortSignal.abort())).rejects.toThrow(/aborted/);
  });

  test('has the submodules that the job checked out', async () => {
    await using scene = await setScene();
    const head = await scene.git('rev-parse', 'HEAD');
    await scene.write('.gitmodules', '[submodule "lib"]\n\tpath = lib\n\turl = ../lib.git\n');
    await scene.git('update-index', '--add', '--cacheinfo', `160000,${head},lib`);
    await scene.git('add', '.gitmodules');
    await scene.git('commit', '--quiet', '-m', 'submodule');
    await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:main');
    await scene.write('lib/index.js', 'of the submodule');
    const { base } = await openFresh(scene);
    await scene.write('lib/index.js', 'changed by the agent');
    const folder = await scene.repository.checkOutCommitAlone(base, unaborted);
    expect(await readFile(join(folder, 'lib', 'index.js'), 'utf8')).toBe('of the submodule');
  });
});
