import { execFileSync } from 'node:child_process';
import { access, chmod, lstat, mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hideCredentials, restoreCredentials } from '../../../src/git/checkout/credentials/credentials.ts';
import { findGitConfigs } from '../../../src/git/checkout/credentials/git-configs.ts';
import { findWorkspace } from '../../../src/git/checkout/workspace.ts';
import { iterate, openFresh, SEAL_KEY, setScene, TOKEN, type Scene } from './git-fixture.ts';

const HEADER = 'AUTHORIZATION: basic c2VjcmV0';

/** As actions/checkout makes it of the job's token. */
const OWN_HEADER = `AUTHORIZATION: basic ${Buffer.from(`x-access-token:${TOKEN}`).toString('base64')}`;
const OWN_KEY = 'http.https://github.com/.extraheader';

function noteOf({ workFolder }: Scene): string {
  return join(workFolder, 'hidden-credentials.json');
}

/** Post after a kill, which has nothing but the work folder and the job's token; what it warned of. */
async function afterKill({ workFolder }: Scene): Promise<readonly string[]> {
  const warnings: string[] = [];
  const log = { warning: (text: string) => void warnings.push(text) };
  await restoreCredentials({ workFolder, sealKey: SEAL_KEY, token: TOKEN, log });
  return warnings;
}

type HideOptions = Parameters<typeof hideCredentials>[1];

/** As `hideCredentials` of the repository, with what the wiring gives it. */
async function hideIn(
  { folder, workFolder }: Scene,
  {
    log = { warning: () => undefined },
    learnSecrets = () => undefined,
    temp = join(folder, '..'),
  }: Partial<HideOptions> & { readonly temp?: string } = {},
): Promise<() => Promise<void>> {
  const env = { PATH: process.env['PATH'], RUNNER_TEMP: temp };
  const workspace = await findWorkspace(folder, { env, log });
  if ('why' in workspace) throw new Error(workspace.why);
  await mkdir(workFolder, { recursive: true });
  return hideCredentials(workspace, { workFolder, sealKey: SEAL_KEY, token: TOKEN, log, env, learnSecrets });
}

/** What `git config` in the workspace, and the files that it reads, tell the agent. */
async function visible(scene: Scene, ...files: string[]): Promise<string> {
  const texts = await Promise.all(
    [join(scene.folder, '.git', 'config'), ...files].map((path) => readFile(path, 'utf8').catch(() => '')),
  );
  return [await scene.git('config', '--list'), ...texts].join('\n');
}

describe('hideCredentials()', () => {
  test.each([
    ['a header, as actions/checkout leaves it', ['http.https://github.com/.extraheader', HEADER], 'c2VjcmV0'],
    ['a header for all servers', ['http.extraheader', HEADER], 'c2VjcmV0'],
    ['a credential helper', ['credential.helper', 'store --file=/x/c2VjcmV0'], 'c2VjcmV0'],
    ['a helper of one server', ['credential.https://github.com.helper', '!echo c2VjcmV0'], 'c2VjcmV0'],
    ['a password in a remote', ['remote.origin.url', 'https://x-access-token:c2VjcmV0@github.com/o/r.git'], 'c2VjcmV0'],
    [
      'a token as user name of a push URL',
      ['remote.origin.pushurl', 'https://c2VjcmV0@github.com/o/r.git'],
      'c2VjcmV0',
    ],
    [
      'a password in a rewritten URL',
      ['url.https://x:c2VjcmV0@github.com/.insteadOf', 'https://github.com/'],
      'c2VjcmV0',
    ],
    ['a password of a proxy', ['http.proxy', 'http://me:c2VjcmV0@proxy:8080'], 'c2VjcmV0'],
    ['of a proxy without a scheme', ['http.https://github.com/.proxy', 'me:c2VjcmV0@proxy:8080'], 'c2VjcmV0'],
    ['of the proxy of a remote', ['remote.origin.proxy', 'socks5://me:c2VjcmV0@proxy:1080'], 'c2VjcmV0'],
    ['of LFS', ['lfs.url', 'https://me:c2VjcmV0@lfs.example/o/r'], 'c2VjcmV0'],
    ['of LFS for pushes', ['remote.origin.lfspushurl', 'https://me:c2VjcmV0@lfs.example/o/r'], 'c2VjcmV0'],
    ['of a branch', ['branch.main.remote', 'https://me:c2VjcmV0@github.com/o/r.git'], 'c2VjcmV0'],
    ['of where pushes go', ['remote.pushDefault', 'https://me:c2VjcmV0@github.com/o/r.git'], 'c2VjcmV0'],
    ['in the name of a setting', ['lfs.https://me:c2VjcmV0@lfs.example/.access', 'basic'], 'c2VjcmV0'],
  ])('%s is gone until it is put back byte for byte', async (_, setting, secret) => {
    await using scene = await setScene();
    await scene.git('config', ...setting);
    const original = await scene.read('.git/config');
    const restore = await scene.repository.hideCredentials();
    expect(await visible(scene)).not.toContain(secret);
    expect(await scene.git('remote')).toBe('origin');
    await restore();
    expect(await scene.read('.git/config')).toBe(original);
    await restore();
    expect(await scene.read('.git/config')).toBe(original);
  });

  test('a URL without its password still names the server', async () => {
    await using scene = await setScene();
    await scene.git('config', 'remote.origin.url', 'https://x:c2VjcmV0@github.com/o/r.git');
    await scene.repository.hideCredentials();
    expect(await scene.git('config', 'remote.origin.url')).toBe('https://github.com/o/r.git');
  });

  test.each(['include.path', 'includeIf.gitdir:SCENE/.git.path'])(
    'a credentials file that the config includes (%s) is moved away and back, private meanwhile',
    async (key) => {
      await using scene = await setScene();
      const file = join(scene.folder, '..', 'git-credentials-1.config');
      await writeFile(file, `[http "https://github.com/"]\n\textraheader = ${HEADER}\n`, { mode: 0o640 });
      await scene.git('config', key.replace('SCENE', scene.folder), file);
      expect(await visible(scene)).toContain('c2VjcmV0');
      const restore = await scene.repository.hideCredentials();
      expect(await visible(scene, file)).not.toContain('c2VjcmV0');
      await expect(access(file)).rejects.toThrow('ENOENT');
      const note = noteOf(scene);
      expect((await stat(note)).mode & 0o777).toBe(0o600);
      expect(await readFile(note, 'latin1')).not.toContain('c2VjcmV0');
      await restore();
      expect(await visible(scene)).toContain('c2VjcmV0');
      expect((await stat(file)).mode & 0o777).toBe(0o640);
      await expect(access(note)).rejects.toThrow('ENOENT');
    },
  );

  test('an included file without credentials stays where it is', async () => {
    await using scene = await setScene();
    const file = join(scene.folder, '..', 'shared.config');
    await writeFile(file, '[user]\n\tname = me\n');
    await scene.git('config', 'include.path', file);
    await scene.repository.hideCredentials();
    expect(await readFile(file, 'utf8')).toContain('name = me');
  });

  test('the SSH key that actions/checkout writes is moved away as well', async () => {
    await using scene = await setScene();
    const key = join(scene.folder, '..', 'key-1');
    await writeFile(key, 'private', { mode: 0o600 });
    await scene.git('config', 'core.sshCommand', `"/usr/bin/ssh" -i "${key}" -o StrictHostKeyChecking=yes`);
    const restore = await scene.repository.hideCredentials();
    await expect(access(key)).rejects.toThrow('ENOENT');
    await restore();
    expect(await readFile(key, 'utf8')).toBe('private');
  });

  test('the config of a submodule is cleaned, too', async () => {
    await using scene = await setScene();
    const config = join(scene.folder, '.git', 'modules', 'lib', 'config');
    await mkdir(join(config, '..'), { recursive: true });
    await writeFile(config, `[http "https://github.com/"]\n\textraheader = ${HEADER}\n`);
    const restore = await scene.repository.hideCredentials();
    expect(await readFile(config, 'utf8')).not.toContain('c2VjcmV0');
    await restore();
    expect(await readFile(config, 'utf8')).toContain('c2VjcmV0');
  });

  describe('of another checkout in the work tree', () => {
    /** As actions/checkout with `path:` makes it. */
    async function checkOutIn(scene: Scene, path: string): Promise<string> {
      await scene.git('init', '--quiet', path);
      return join(scene.folder, path, '.git', 'config');
    }

    test.each(['other', 'a/b/c/other', 'node_modules/lib', 'node_modules/@scope/lib'])(
      '%s: the header is gone until it is put back, and is a secret from then on',
      async (path) => {
        await using scene = await setScene();
        const config = await checkOutIn(scene, path);
        await scene.git('config', '--file', config, OWN_KEY, OWN_HEADER);
        const original = await readFile(config, 'utf8');
        const learned: string[] = [];
        const restore = await hideIn(scene, { learnSecrets: (secrets) => void learned.push(...secrets) });
        expect(await readFile(config, 'utf8')).not.toContain(OWN_HEADER);
        expect(learned).toContain(TOKEN);
        await restore();
        expect(await readFile(config, 'utf8')).toBe(original);
      },
    );

    test('the file that its config includes is moved away, and post puts both back', async () => {
      await using scene = await setScene();
      const config = await checkOutIn(scene, 'other');
      const file = join(scene.folder, '..', 'git-credentials-2.config');
      await writeFile(file, `[http "https://github.com/"]\n\textraheader = ${OWN_HEADER}\n`, { mode: 0o600 });
      await scene.git('config', '--file', config, `includeIf.gitdir:${join(config, '..')}.path`, file);
      await hideIn(scene);
      await expect(access(file)).rejects.toThrow('ENOENT');
      expect(await readFile(config, 'utf8')).not.toContain('git-credentials-2');
      expect(await afterKill(scene)).toEqual([]);
      expect(await readFile(file, 'utf8')).toContain(OWN_HEADER);
      expect(await scene.git('-C', 'other', 'config', OWN_KEY)).toBe(OWN_HEADER);
    });

    test('a submodule of it, and a git directory that lies elsewhere', async () => {
      await using scene = await setScene();
      const ofModule = join(await checkOutIn(scene, 'other'), '..', 'modules', 'lib', 'config');
      await mkdir(join(ofModule, '..'), { recursive: true });
      const elsewhere = join(scene.folder, '..', 'elsewhere.git');
      await scene.git('init', '--quiet', '--separate-git-dir', elsewhere, 'apart');
      const configs = [ofModule, join(elsewhere, 'config')];
      for (const config of configs) await scene.git('config', '--file', config, OWN_KEY, OWN_HEADER);
      const restore = await hideIn(scene);
      for (const config of configs) expect(await readFile(config, 'utf8')).not.toContain(OWN_HEADER);
      await restore();
      for (const config of configs) expect(await readFile(config, 'utf8')).toContain(OWN_HEADER);
    });

    test.each<[string, (file: string) => string]>([
      ['an SSH key', (file) => `[core]\n\tsshCommand = ssh -i ${file}\n`],
      ['an included file', (file) => `[include]\n\tpath = ${file}\n`],
    ])('%s outside of work tree and job is left alone, since an earlier agent may have named it', async (_, text) => {
      await using scene = await setScene();
      const config = await checkOutIn(scene, 'other');
      const file = join(scene.folder, '..', 'of-the-runner');
      await writeFile(file, `[http]\n\textraheader = ${OWN_HEADER}\n`);
      await writeFile(config, text(file));
      const warnings: string[] = [];
      const log = { warning: (warning: string) => void warnings.push(warning) };
      const restore = await hideIn(scene, { log, temp: scene.workFolder });
      expect(await readFile(file, 'utf8')).toContain(OWN_HEADER);
      expect(warnings).toEqual([expect.stringContaining(file)]);
      await restore();
    });

    test('a config that is a link to a file elsewhere is left alone as well', async () => {
      await using scene = await setScene();
      const config = await checkOutIn(scene, 'other');
      const file = join(scene.folder, '..', 'of-the-runner');
      await writeFile(file, `[http]\n\textraheader = ${OWN_HEADER}\n`);
      await rm(config);
      await symlink(file, config);
      const warnings: string[] = [];
      const log = { warning: (warning: string) => void warnings.push(warning) };
      await hideIn(scene, { log, temp: scene.workFolder });
      expect(await readFile(config, 'utf8')).toContain(OWN_HEADER);
      expect((await lstat(config)).isSymbolicLink()).toBe(true);
      expect(warnings).toEqual([expect.stringContaining(config)]);
    });

    test.skipIf(process.getuid?.() === 0).each(['main', 'post'])(
      'a folder that the agent closed is a warning of %s, and ends nothing',
      async (who) => {
        await using scene = await setScene();
        const config = await checkOutIn(scene, 'other');
        await scene.git('config', '--file', config, OWN_KEY, OWN_HEADER);
        const warnings: string[] = [];
        const restore = await hideIn(scene, { log: { warning: (text) => void warnings.push(text) } });
        await chmod(dirname(config), 0o500);
        if (who === 'main') await restore();
        else warnings.push(...(await afterKill(scene)));
        expect(warnings).toEqual([expect.stringContaining(`could not be restored (${config})`)]);
        await chmod(dirname(config), 0o700);
      },
    );

    test('what git cannot read there ends nothing, and a warning names it', async () => {
      await using scene = await setScene();
      const config = await checkOutIn(scene, 'other');
      await writeFile(config, '[http\n');
      const warnings: string[] = [];
      await hideIn(scene, { log: { warning: (text) => void warnings.push(text) } });
      expect(warnings).toEqual([
        `Other checkouts in the work tree may hold git credentials that the agent can read, since these could not be searched: ${config}. Set "persist-credentials: false" on actions/checkout.`,
      ]);
    });

    test.each([
      ['folders', { folders: 3, ms: 15_000, found: 200 }],
      ['milliseconds', { folders: 100, ms: 0, found: 200 }],
      ['checkouts', { folders: 100, ms: 15_000, found: 0 }],
    ])('the search ends after so many %s, and says what is left', async (_, limits) => {
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

  test('what the agent wrote into the config is gone after the restore', async () => {
    await using scene = await setScene();
    await scene.git('config', 'http.https://github.com/.extraheader', HEADER);
    const restore = await scene.repository.hideCredentials();
    await scene.git('config', 'core.fsmonitor', '/tmp/evil');
    await restore();
    expect(await scene.read('.git/config')).not.toContain('fsmonitor');
  });

  test('a git directory that the agent removed is made again without them', async () => {
    await using scene = await setScene();
    await scene.git('config', OWN_KEY, OWN_HEADER);
    await openFresh(scene);
    const giveBack = await scene.repository.hideCredentials();
    const { committed } = await iterate(scene, async () => {
      await scene.write('new.txt', 'new');
      await rm(join(scene.folder, '.git'), { recursive: true });
    });
    expect(await scene.git('rev-parse', 'HEAD')).toBe(committed.head);
    expect(await visible(scene)).not.toContain(OWN_HEADER);
    await giveBack();
    expect(await visible(scene)).toContain(OWN_HEADER);
  });

  test('nothing to hide: nothing is written', async () => {
    await using scene = await setScene();
    const original = await scene.read('.git/config');
    const restore = await scene.repository.hideCredentials();
    expect(await scene.read('.git/config')).toBe(original);
    await restore();
    expect(await scene.read('.git/config')).toBe(original);
  });
});

describe('while they are hidden, nothing of a credential is on disk', () => {
  test.each([
    ['the header of the job', [OWN_KEY, OWN_HEADER]],
    ['the header of another token', ['http.extraheader', HEADER]],
    ['a helper', ['credential.helper', 'store --file=/x/c2VjcmV0']],
    ['a password in a remote', ['remote.origin.url', 'https://x:c2VjcmV0@github.com/o/r.git']],
    ['a password in a key', ['http.https://me:c2VjcmV0@github.com/.extraheader', OWN_HEADER]],
    ['a password in a rewritten URL', ['url.https://x:c2VjcmV0@github.com/.insteadOf', '']],
  ])('%s: the note has the rest of the config, and a mark in its place', async (_, setting) => {
    await using scene = await setScene();
    await scene.git('config', ...setting);
    await scene.repository.hideCredentials();
    const note = await readFile(noteOf(scene), 'utf8');
    for (const secret of ['c2VjcmV0', TOKEN, OWN_HEADER.slice(-40)]) expect(note).not.toContain(secret);
    expect(JSON.parse(note.split('\n')[1] ?? '')).toMatchObject({
      files: [
        {
          path: join(scene.folder, '.git', 'config'),
          settings: expect.arrayContaining([{ is: 'text', key: 'core.bare', value: 'false' }]) as unknown,
        },
      ],
    });
  });
});

describe('after a kill, post', () => {
  test('puts back what the token gives, as git reads it, and says nothing', async () => {
    await using scene = await setScene();
    await scene.git('config', OWN_KEY, OWN_HEADER);
    await scene.git('config', 'includeIf.gitdir:/a "b\\c/.path', 'some#where');
    await scene.git('config', 'alias.x', '!echo "a\\b"\t; echo c # d\n e ');
    await scene.git('config', '--add', 'alias.x', '');
    await writeFile(join(scene.folder, '.git', 'config'), `${await scene.read('.git/config')}[core]\n\tquotePath\n`);
    const original = await scene.git('config', '--list', '--local');
    const mode = (await stat(join(scene.folder, '.git', 'config'))).mode;
    await scene.repository.hideCredentials();
    await scene.git('config', 'core.fsmonitor', '/tmp/evil');
    expect(await afterKill(scene)).toEqual([]);
    expect(await afterKill(scene)).toEqual([]);
    expect(await scene.git('config', '--list', '--local')).toBe(original);
    expect((await stat(join(scene.folder, '.git', 'config'))).mode).toBe(mode);
    await expect(access(noteOf(scene))).rejects.toThrow('ENOENT');
  });

  test('puts the included file of newer checkouts back, private as it was', async () => {
    await using scene = await setScene();
    const file = join(scene.folder, '..', 'git-credentials-1.config');
    await writeFile(file, `[http "https://github.com/"]\n\textraheader = ${OWN_HEADER}\n`, { mode: 0o640 });
    await scene.git('config', `includeIf.gitdir:${scene.folder}/.git.path`, file);
    await scene.repository.hideCredentials();
    await expect(access(file)).rejects.toThrow('ENOENT');
    expect(await afterKill(scene)).toEqual([]);
    expect(await scene.git('config', OWN_KEY)).toBe(OWN_HEADER);
    expect((await stat(file)).mode & 0o777).toBe(0o640);
  });

  test('says in one warning what it cannot put back, and puts back the rest', async () => {
    await using scene = await setScene();
    const key = join(scene.folder, '..', 'key-1');
    await writeFile(key, 'private', { mode: 0o600 });
    await scene.git('config', 'core.sshCommand', `ssh -i "${key}"`);
    await scene.git('config', 'credential.helper', 'store');
    await scene.git('config', 'remote.origin.url', 'https://x:c2VjcmV0@github.com/o/r.git');
    await scene.git('config', OWN_KEY, OWN_HEADER);
    await scene.repository.hideCredentials();
    expect(await afterKill(scene)).toEqual([
      `Git credentials of the checkout could not be restored (${join(scene.folder, '.git', 'config')}, ${key}). Check out again before a later step of this job uses git.`,
    ]);
    expect(await visible(scene)).not.toMatch(/sshcommand|helper/i);
    expect(await scene.git('config', OWN_KEY)).toBe(OWN_HEADER);
    expect(await scene.git('config', 'remote.origin.url')).toBe('https://github.com/o/r.git');
    await expect(access(key)).rejects.toThrow('ENOENT');
  });

  test.each<[string, (note: string, stolen: string) => string]>([
    ['another path', (note, stolen) => note.replace(/"path":"[^"]*"/, `"path":"${stolen}/config"`)],
    ['another header', (note) => note.replace('core.bare', 'http.extraheader')],
    ['no seal', (note) => note.slice(note.indexOf('\n') + 1)],
    ['nothing', () => ''],
  ])('takes no note that the agent changed: %s', async (_, change) => {
    await using scene = await setScene();
    await scene.git('config', OWN_KEY, OWN_HEADER);
    await scene.repository.hideCredentials();
    const note = await readFile(noteOf(scene), 'utf8');
    const stolen = join(scene.folder, 'stolen');
    await mkdir(stolen);
    await writeFile(noteOf(scene), change(note, stolen));
    await expect(afterKill(scene)).rejects.toThrow(/not what this run wrote. Check out again/);
    await expect(access(join(stolen, 'config'))).rejects.toThrow('ENOENT');
    expect(await visible(scene)).not.toContain(OWN_HEADER);
  });

  test('waits for no named pipe in the place of the note', async () => {
    await using scene = await setScene();
    await scene.git('config', OWN_KEY, OWN_HEADER);
    await scene.repository.hideCredentials();
    await rm(noteOf(scene));
    execFileSync('mkfifo', [noteOf(scene)]);
    await expect(afterKill(scene)).rejects.toThrow(/not what this run wrote/);
  });
});

describe('a link that the agent laid in the place of .git leads no credential elsewhere', () => {
  test.each([['main'], ['post']] as const)('restored by %s', async (who) => {
    await using scene = await setScene();
    await scene.git('config', OWN_KEY, OWN_HEADER);
    const restore = await scene.repository.hideCredentials();
    const stolen = join(scene.folder, '..', 'stolen');
    await rename(join(scene.folder, '.git'), stolen);
    await symlink(stolen, join(scene.folder, '.git'));
    if (who === 'main') await restore();
    else expect(await afterKill(scene)).toHaveLength(1);
    expect(await readFile(join(stolen, 'config'), 'utf8')).not.toContain(OWN_HEADER);
  });
});
