import { access, lstat, mkdir, readFile, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findCredentials } from '../../../src/git/checkout/credentials/credentials.ts';
import { findGitConfigs } from '../../../src/git/checkout/credentials/git-configs.ts';
import { findWorkspace } from '../../../src/git/checkout/workspace.ts';
import { iterate, openFresh, reachByFolder, runGit, setScene, stateOf, TOKEN, type Scene } from './git-fixture.ts';

reachByFolder();

const SECRET = 'c2VjcmV0';
const HEADER = `AUTHORIZATION: basic ${SECRET}`;

/** actions/checkout encodes the job's token in this way. */
const OWN_BASIC = Buffer.from(`x-access-token:${TOKEN}`).toString('base64');
const OWN_HEADER = `AUTHORIZATION: basic ${OWN_BASIC}`;
const OWN_KEY = 'http.https://github.com/.extraheader';

/** Returns the credentials found in the checkout, and the warnings. */
async function findIn({ checkout }: Scene, temp = join(checkout, '..')) {
  const warnings: string[] = [];
  const log = { warning: (text: string) => void warnings.push(text) };
  const env = { PATH: process.env['PATH'], RUNNER_TEMP: temp };
  await mkdir(temp, { recursive: true });
  const workspace = await findWorkspace(checkout, { env, log });
  if ('why' in workspace) throw new Error(workspace.why);
  return { ...(await findCredentials(workspace, { env, log })), warnings };
}

/** Lays both trees of a run. */
async function layBoth(scene: Scene): Promise<readonly [string, string]> {
  const { base } = await openFresh(scene);
  return [scene.folder, await scene.repository.checkOutCommitAlone(base, new AbortController().signal)];
}

/** Returns the files in the folder, or behind a link in it, that contain one of the texts. */
async function filesWith(folder: string, texts: readonly string[]): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true });
  const held = await Promise.all(names.map((name) => readFile(join(folder, name), 'latin1').catch(() => '')));
  return names.filter((_, nth) => texts.some((text) => held[nth]?.includes(text)));
}

/**
 * Lays both trees and expects that neither a file nor git reveals one of the texts there, and that the checkout is
 * unchanged.
 */
async function expectInNoTree(scene: Scene, ...texts: readonly string[]): Promise<readonly [string, string]> {
  const before = stateOf(dirname(scene.checkout), /^(?:runner-temp|server)$/);
  const trees = await layBoth(scene);
  for (const tree of trees) {
    expect(await filesWith(tree, texts)).toEqual([]);
    const seen = await runGit(tree, ['config', '--list', '--show-origin', '--includes']);
    for (const text of texts) expect(seen).not.toContain(text);
  }
  expect(stateOf(dirname(scene.checkout), /^(?:runner-temp|server)$/)).toEqual(before);
  return trees;
}

describe('credentials of the checkout are found, are in no tree, and stay where they are', () => {
  test.each([
    ['a header, as actions/checkout leaves it', [OWN_KEY, HEADER]],
    ['a header for all servers', ['http.extraheader', HEADER]],
    ['a credential helper', ['credential.helper', `!echo password=${SECRET}`]],
    ['a helper of one server', ['credential.https://github.com.helper', `!echo password=${SECRET}`]],
    ['a password in a remote', ['remote.origin.url', `https://x-access-token:${SECRET}@github.com/o/r.git`]],
    ['a password in a rewritten URL', [`url.https://x:${SECRET}@github.com/.insteadOf`, 'https://github.com/']],
    ['a password of a proxy', ['http.proxy', `http://me:${SECRET}@proxy:8080`]],
    ['of a proxy without a scheme', ['http.https://github.com/.proxy', `me:${SECRET}@proxy:8080`]],
    ['of the proxy of a remote', ['remote.origin.proxy', `socks5://me:${SECRET}@proxy:1080`]],
    ['of LFS', ['lfs.url', `https://me:${SECRET}@lfs.example/o/r`]],
    ['of LFS for pushes', ['remote.origin.lfspushurl', `https://me:${SECRET}@lfs.example/o/r`]],
    ['of a branch', ['branch.main.remote', `https://me:${SECRET}@github.com/o/r.git`]],
    ['of where pushes go', ['remote.pushDefault', `https://me:${SECRET}@github.com/o/r.git`]],
    ['in the name of a setting', [`lfs.https://me:${SECRET}@lfs.example/.access`, 'basic']],
  ])('%s', async (_, setting) => {
    await using scene = await setScene();
    await scene.git('config', ...setting);
    expect((await findIn(scene)).secrets).toContain(SECRET);
    await expectInNoTree(scene, SECRET);
  });

  test.each([
    ['a helper that reads a file', ['credential.helper', 'store --file=/x/c2VjcmV0']],
    ['a token as user name of a push URL', ['remote.origin.pushurl', `https://${SECRET}@github.com/o/r.git`]],
  ])('%s, though it contains no recognizable secret', async (_, setting) => {
    await using scene = await setScene();
    await scene.git('config', ...setting);
    await expectInNoTree(scene, SECRET);
  });

  test("the file of Google's login, which git ignores", async () => {
    await using scene = await setScene();
    await writeFile(join(scene.checkout, '.git', 'info', 'exclude'), 'gha-creds-*.json\nother.json\n');
    await writeFile(join(scene.checkout, 'gha-creds-0123456789abcdef.json'), `{"headers":"${SECRET}"}`);
    await writeFile(join(scene.checkout, 'other.json'), '{}');
    for (const tree of await expectInNoTree(scene, SECRET))
      expect((await readdir(tree)).filter((name) => /creds|other/.test(name))).toEqual(['other.json']);
  });

  test('and in nothing that is published: they are secrets from the first tree on', async () => {
    await using scene = await setScene();
    await scene.git('config', 'http.extraheader', `PRIVATE-TOKEN: ${SECRET}`);
    await openFresh(scene);
    const { committed } = await iterate(scene, () => scene.write('stolen.txt', SECRET));
    expect(committed.withheld).toMatchObject([{ path: 'stolen.txt' }]);
  });

  test.each(['include.path', 'includeIf.gitdir:SCENE/.git.path'])(
    'in a file that the config includes (%s)',
    async (key) => {
      await using scene = await setScene();
      const file = join(scene.folder, '..', 'git-credentials-1.config');
      await writeFile(file, `[http "https://github.com/"]\n\textraheader = ${OWN_HEADER}\n`, { mode: 0o640 });
      await scene.git('config', key.replace('SCENE', scene.folder), file);
      const found = await findIn(scene);
      expect(found.secrets).toContain(TOKEN);
      expect(found.secretFiles).toEqual([file]);
      await expectInNoTree(scene, OWN_BASIC, TOKEN, 'git-credentials-1');
    },
  );

  test('in a file that git ignores in the checkout', async () => {
    await using scene = await setScene();
    await scene.write('.git/info/exclude', '/*.config\n/key\n');
    await scene.write('git-credentials.config', `[http]\n\textraheader = ${OWN_HEADER}\n`);
    await scene.write('key', SECRET);
    await scene.git('config', 'include.path', join(scene.checkout, 'git-credentials.config'));
    await scene.git('config', 'core.sshCommand', `"/usr/bin/ssh" -i "${join(scene.checkout, 'key')}"`);
    const trees = await expectInNoTree(scene, OWN_BASIC, SECRET);
    for (const tree of trees)
      for (const name of ['key', 'git-credentials.config'])
        await expect(access(join(tree, name))).rejects.toThrow('ENOENT');
  });

  test('in an SSH key that actions/checkout writes', async () => {
    await using scene = await setScene();
    const key = join(scene.folder, '..', 'key-1');
    await writeFile(key, SECRET, { mode: 0o600 });
    await scene.git('config', 'core.sshCommand', `"/usr/bin/ssh" -i "${key}" -o StrictHostKeyChecking=yes`);
    expect((await findIn(scene)).secretFiles).toEqual([key]);
    await expectInNoTree(scene, SECRET, key);
  });

  test('in the config of a submodule, and of one in that', async () => {
    await using scene = await setScene();
    const configs = ['lib', 'lib/modules/deep'].map((path) => join(scene.folder, '.git', 'modules', path, 'config'));
    for (const config of configs) {
      await mkdir(dirname(config), { recursive: true });
      await writeFile(config, `[core]\n\tbare = false\n[http "https://github.com/"]\n\textraheader = ${OWN_HEADER}\n`);
    }
    expect((await findIn(scene)).secrets).toContain(TOKEN);
    const [tree] = await expectInNoTree(scene, OWN_BASIC);
    expect(await runGit(tree, ['config', '--file', '.git/modules/lib/config', 'core.bare'])).toBe('false');
  });

  test('an included file without credentials does not count', async () => {
    await using scene = await setScene();
    const file = join(scene.folder, '..', 'shared.config');
    await writeFile(file, '[user]\n\tname = me\n');
    await scene.git('config', 'include.path', file);
    expect(await findIn(scene)).toMatchObject({ secrets: [], secretFiles: [] });
  });

  test('nor is any in a plain checkout', async () => {
    await using scene = await setScene();
    expect(await findIn(scene)).toEqual({ configs: [], secretFiles: [], secrets: [], warnings: [] });
  });

  test('a URL without its password still names the server in a tree, and other settings are there as well', async () => {
    await using scene = await setScene();
    await scene.git('config', 'remote.origin.url', `https://x:${SECRET}@github.com/o/r.git`);
    await scene.git('config', 'user.name', 'me');
    for (const tree of await expectInNoTree(scene, SECRET)) {
      expect(await runGit(tree, ['config', 'remote.origin.url'])).toBe('https://github.com/o/r.git');
      expect(await runGit(tree, ['config', 'user.name'])).toBe('me');
    }
  });

  test('a git directory that the agent removed is made again without them', async () => {
    await using scene = await setScene();
    await scene.git('config', OWN_KEY, OWN_HEADER);
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.write('new.txt', 'new');
      await rm(join(scene.folder, '.git'), { recursive: true });
    });
    expect(await scene.git('rev-parse', 'HEAD')).toBe(committed.head);
    expect(await filesWith(scene.folder, [OWN_BASIC])).toEqual([]);
    await scene.repository.leave();
    expect(await scene.git('config', OWN_KEY)).toBe(OWN_HEADER);
  });
});

describe('of another checkout in the work tree', () => {
  /** Checks out like actions/checkout with `path:`; git ignores the folder, since it is not published. */
  async function checkOutIn(scene: Scene, path: string): Promise<string> {
    await scene.git('init', '--quiet', path);
    await scene.write('.git/info/exclude', `/${path.split('/')[0] ?? ''}/\n`);
    return join(scene.folder, path, '.git', 'config');
  }

  test.each(['other', 'a/b/c/other', 'node_modules/lib', 'node_modules/@scope/lib'])(
    '%s: the header is a secret, and in no tree, which have the rest of it',
    async (path) => {
      await using scene = await setScene();
      const config = await checkOutIn(scene, path);
      await scene.git('config', '--file', config, OWN_KEY, OWN_HEADER);
      await scene.git('config', '--file', config, 'user.name', 'me');
      expect((await findIn(scene)).secrets).toContain(TOKEN);
      const trees = await expectInNoTree(scene, OWN_BASIC);
      for (const tree of trees) expect(await runGit(join(tree, path), ['config', 'user.name'])).toBe('me');
    },
  );

  test('in the file that its config includes', async () => {
    await using scene = await setScene();
    const config = await checkOutIn(scene, 'other');
    const file = join(scene.folder, '..', 'git-credentials-2.config');
    await writeFile(file, `[http "https://github.com/"]\n\textraheader = ${OWN_HEADER}\n`, { mode: 0o600 });
    await scene.git('config', '--file', config, `includeIf.gitdir:${join(config, '..')}.path`, file);
    await scene.git('config', '--file', config, 'include.path', '../nested.config');
    await scene.write('other/nested.config', `[http]\n\textraheader = ${HEADER}\n`);
    const { secrets, secretFiles } = await findIn(scene);
    expect(secrets).toEqual(expect.arrayContaining([TOKEN, SECRET]));
    expect(secretFiles).toContain(file);
    await expectInNoTree(scene, OWN_BASIC, SECRET, 'git-credentials-2');
  });

  test('in a submodule of it, and in a git directory that lies elsewhere', async () => {
    await using scene = await setScene();
    const ofModule = join(await checkOutIn(scene, 'other'), '..', 'modules', 'lib', 'config');
    await mkdir(join(ofModule, '..'), { recursive: true });
    const elsewhere = join(scene.folder, '..', 'elsewhere.git');
    await scene.git('init', '--quiet', '--separate-git-dir', elsewhere, 'other/apart');
    await scene.git('config', '--file', ofModule, OWN_KEY, OWN_HEADER);
    await scene.git('config', '--file', join(elsewhere, 'config'), 'http.extraheader', HEADER);
    expect((await findIn(scene)).secrets).toEqual(expect.arrayContaining([TOKEN, SECRET]));
    await expectInNoTree(scene, OWN_BASIC, SECRET);
  });

  test.each<[string, (file: string) => string]>([
    ['an SSH key', (file) => `[core]\n\tsshCommand = ssh -i ${file}\n`],
    ['an included file', (file) => `[include]\n\tpath = ${file}\n`],
  ])('%s outside of work tree and job is not read, since an earlier agent may have named it', async (_, text) => {
    await using scene = await setScene();
    const config = await checkOutIn(scene, 'other');
    const file = join(scene.folder, '..', 'of-the-runner');
    await writeFile(file, `[http]\n\textraheader = ${OWN_HEADER}\n`);
    await writeFile(config, text(file));
    const { secrets, secretFiles, warnings } = await findIn(scene, scene.workFolder);
    expect({ secrets, secretFiles }).toEqual({ secrets: [], secretFiles: [] });
    expect(warnings).toEqual([expect.stringContaining(file)]);
  });

  test('nor a config that is a link to a file elsewhere', async () => {
    await using scene = await setScene();
    const config = await checkOutIn(scene, 'other');
    const file = join(scene.folder, '..', 'of-the-runner');
    await writeFile(file, `[http]\n\textraheader = ${OWN_HEADER}\n`);
    await rm(config);
    await symlink(file, config);
    const { secrets, warnings } = await findIn(scene, scene.workFolder);
    expect(secrets).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining(config)]);
    await layBoth(scene);
    expect(await readFile(file, 'utf8')).toContain(OWN_HEADER);
    expect((await lstat(config)).isSymbolicLink()).toBe(true);
  });

  test('a config that is a link within the checkout: the tree has a file of its own', async () => {
    await using scene = await setScene();
    const config = await checkOutIn(scene, 'other');
    const real = join(scene.folder, 'other', 'real.config');
    await writeFile(real, `[http]\n\textraheader = ${OWN_HEADER}\n`);
    await rm(config);
    await symlink(real, config);
    const [tree] = await layBoth(scene);
    expect(await readFile(join(tree, 'other', '.git', 'config'), 'utf8')).not.toContain(OWN_BASIC);
    expect(await realpath(join(tree, 'other', '.git', 'config'))).toMatch(new RegExp(`^${tree}/`));
    expect(await readFile(real, 'utf8')).toContain(OWN_BASIC);
  });

  test('what git cannot read there ends nothing, and a warning names it', async () => {
    await using scene = await setScene();
    const config = await checkOutIn(scene, 'other');
    await writeFile(config, '[http\n');
    expect((await findIn(scene)).warnings).toEqual([
      `Other checkouts in the work tree may hold git credentials that the agent can read, since these could not be searched: ${config}. Set "persist-credentials: false" on actions/checkout.`,
    ]);
    await layBoth(scene);
  });

  test.each([
    ['folders', { folders: 3, ms: 15_000, found: 200 }],
    ['milliseconds', { folders: 100, ms: 0, found: 200 }],
    ['checkouts', { folders: 100, ms: 15_000, found: 0 }],
  ])('the search ends after this many %s, and says what is left', async (_, limits) => {
    await using scene = await setScene();
    await checkOutIn(scene, 'a/b/c/other');
    const gitFolder = join(scene.folder, '.git');
    const place = { top: scene.folder, gitFolder, commonFolder: gitFolder };
    const bounded = await findGitConfigs(place, limits);
    expect(bounded.nested).toEqual([]);
    expect(bounded.unsearched).not.toEqual([]);
    expect(await findGitConfigs(place)).toMatchObject({
      nested: expect.arrayContaining([join(scene.folder, 'a/b/c/other/.git/config')]) as unknown,
      unsearched: [],
    });
  });
});
