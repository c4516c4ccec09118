import { access, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { restoreCredentials } from '../../../src/git/checkout/credentials.ts';
import { SEAL_KEY, setScene, type Scene } from './git-fixture.ts';

const HEADER = 'AUTHORIZATION: basic c2VjcmV0';

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
      const sealed = join(scene.workFolder, 'hidden-credentials.sealed');
      expect((await stat(sealed)).mode & 0o777).toBe(0o600);
      expect(await readFile(sealed, 'latin1')).not.toMatch(/c2VjcmV0|credentials/);
      await restore();
      expect(await visible(scene)).toContain('c2VjcmV0');
      expect((await stat(file)).mode & 0o777).toBe(0o640);
      await expect(access(sealed)).rejects.toThrow('ENOENT');
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

  test('after a kill, post puts everything back with nothing but the work folder', async () => {
    await using scene = await setScene();
    await scene.git('config', 'http.https://github.com/.extraheader', HEADER);
    const original = await scene.read('.git/config');
    await scene.repository.hideCredentials();
    await restoreCredentials({ workFolder: scene.workFolder, sealKey: SEAL_KEY });
    await restoreCredentials({ workFolder: scene.workFolder, sealKey: SEAL_KEY });
    expect(await scene.read('.git/config')).toBe(original);
  });

  test('hiding again after a kill does not take the cleaned config for the original', async () => {
    await using scene = await setScene();
    await scene.git('config', 'http.https://github.com/.extraheader', HEADER);
    const original = await scene.read('.git/config');
    await scene.repository.hideCredentials();
    const restore = await scene.reopen().hideCredentials();
    expect(await scene.read('.git/config')).not.toContain('c2VjcmV0');
    await restore();
    expect(await scene.read('.git/config')).toBe(original);
  });

  test('what the agent wrote into the config is gone after the restore', async () => {
    await using scene = await setScene();
    await scene.git('config', 'http.https://github.com/.extraheader', HEADER);
    const restore = await scene.repository.hideCredentials();
    await scene.git('config', 'core.fsmonitor', '/tmp/evil');
    await restore();
    expect(await scene.read('.git/config')).not.toContain('fsmonitor');
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
