import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { rememberFoldersAbove } from '../../../src/processes/folders-above.ts';

let root = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-above-')));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

const at = (...names: string[]): string => join(root, ...names);

function write(path: string, content = 'before'): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), content);
}

/** Returns everything below `root` except folders: the content by path, or the target of a link. */
function contents(): Record<string, string> {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
  return Object.fromEntries(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [relative(root, path), entry.isFile() ? readFileSync(path, 'utf8') : 'not a file'];
    }),
  );
}

/** Records the folders above `root/a/run/git/clean`, and lets `agent` work. */
async function afterAgent(agent: () => void) {
  mkdirSync(at('a', 'run'), { recursive: true });
  for (const folder of ['tmp', 'home']) mkdirSync(at(folder), { recursive: true });
  const above = await rememberFoldersAbove({
    trees: at('a', 'run', 'git', 'clean'),
    temporary: at('tmp'),
    inUse: [at('a', '.config', 'shop'), at('home')],
  });
  agent();
  return { ...above, left: contents() };
}

describe('what build tools look for above a clean clone', () => {
  test.each(['a/run/git', 'a/run', 'a', '', 'tmp'])(
    'is put aside where it is new, in %j, and comes back',
    async (folder) => {
      const { restore, left } = await afterAgent(() => {
        for (const name of ['node_modules/.bin/node', 'pytest.ini', '.cargo/config.toml', '.mocharc.json'])
          write(join(folder, name), 'planted');
        symlinkSync(at('home'), at(folder, '.venv'));
        symlinkSync('nowhere', at(folder, 'conftest.py'));
        execFileSync('mkfifo', [at(folder, 'tox.ini')]);
      });
      const { paths, undo } = await restore();
      const names = ['.cargo', '.mocharc.json', '.venv', 'conftest.py', 'node_modules', 'pytest.ini', 'tox.ini'];
      expect(paths.toSorted()).toEqual(names.map((name) => at(folder, name)));
      expect(paths.filter((path) => existsSync(path))).toEqual([]);
      await undo();
      expect(contents()).toEqual(left);
    },
  );

  test.each([
    ['a file', 'setup.cfg'],
    ['a file in a folder of which only that is looked for', '.cargo/config.toml'],
  ])('is what it was where %s was changed, or removed', async (_, path) => {
    write(`a/${path}`);
    write(`a/run/${path}`);
    chmodSync(at('a', path), 0o640);
    const { restore, left } = await afterAgent(() => {
      write(`a/${path}`, 'planted');
      rmSync(at('a', 'run', path));
    });
    const { paths, undo } = await restore();
    expect(paths).toEqual([at('a', 'run', path), at('a', path)]);
    expect(paths.map((changed) => readFileSync(changed, 'utf8'))).toEqual(['before', 'before']);
    expect(lstatSync(at('a', path)).mode & 0o777).toBe(0o640);
    await undo();
    expect(contents()).toEqual(left);
  });

  test('a link is what it led to', async () => {
    write('a/dotfiles/babelrc');
    symlinkSync('dotfiles/babelrc', at('a', '.babelrc'));
    const { restore } = await afterAgent(() => {
      write('a/dotfiles/babelrc', 'planted');
    });
    const { undo } = await restore();
    expect(readFileSync(at('a', '.babelrc'), 'utf8')).toBe('before');
    await undo();
    expect(readFileSync(at('a', '.babelrc'), 'utf8')).toBe('planted');
    expect(lstatSync(at('a', '.babelrc')).isSymbolicLink()).toBe(true);
  });

  test.each([
    [
      'a file deep in it is changed',
      () => {
        write('a/node_modules/pkg/lib/index.js', 'evil!!');
      },
    ],
    [
      'a program is added',
      () => {
        write('a/node_modules/.bin/node', 'planted');
      },
    ],
  ])('a folder that was there is put aside where %s', async (_, agent) => {
    write('a/node_modules/pkg/lib/index.js');
    const { restore, left } = await afterAgent(agent);
    const { paths, undo } = await restore();
    expect(paths).toEqual([at('a', 'node_modules')]);
    expect(existsSync(at('a', 'node_modules'))).toBe(false);
    await undo();
    expect(contents()).toEqual(left);
  });

  test('unchanged files stay, and so do other names, the work tree and the home folder', async () => {
    for (const path of ['a/package.json', 'a/node_modules/pkg/index.js', 'a/.cargo/config.toml', 'a/.config/shop/x'])
      write(path);
    const { restore, left } = await afterAgent(() => {
      write('a/package.json');
      write('a/.cargo/registry/index/x', 'fetched');
      write('a/.config/shop/package.json', 'in the work tree');
      write('home/package.json', 'at home');
      write('a/tmp.Xq3PzY/package.json', 'of another program');
      write('tmp/report.json', 'of another program');
      write('a/run/git/clean/venv/package.json', 'the clone');
    });
    const { paths, undo } = await restore();
    expect(paths).toEqual([]);
    expect(contents()).toEqual(left);
    await undo();
    expect(contents()).toEqual(left);
  });

  test('what verify leaves in its place stays there, and nothing is lost', async () => {
    const { restore } = await afterAgent(() => {
      write('a/package.json', 'planted');
    });
    const { undo } = await restore();
    write('a/package.json', 'of verify');
    await undo();
    expect(Object.values(contents()).sort()).toEqual(['of verify', 'planted']);
  });

  test('a link in the place of a folder on the way is refused', async () => {
    const { restore } = await afterAgent(() => {
      renameSync(at('a', 'run'), at('elsewhere'));
      symlinkSync(at('elsewhere'), at('a', 'run'));
    });
    await expect(restore()).rejects.toThrow(/is no longer where it was/);
  });

  test.skipIf(process.getuid?.() === 0)(
    'is refused where it cannot be put aside, but not where that is elsewhere',
    async () => {
      const { restore } = await afterAgent(() => {
        write('a/package.json', 'planted');
        write('a/run/tox.ini', 'planted');
        write('tmp/tox.ini', 'planted');
        chmodSync(at('a'), 0o500);
        chmodSync(at('tmp'), 0o500);
      });
      try {
        await expect(restore()).rejects.toThrow(/a\/package\.json was added or changed.*EACCES/);
        expect(readFileSync(at('a', 'run', 'tox.ini'), 'utf8')).toBe('planted');
      } finally {
        for (const folder of ['a', 'tmp']) chmodSync(at(folder), 0o700);
      }
    },
  );
});
