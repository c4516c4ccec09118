import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { rememberSurroundings, surroundingsInRoom } from '../../../src/processes/clean-surroundings.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ralph-surroundings-'));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

const home = (...names: string[]): string => join(root, 'home', ...names);
const work = (...names: string[]): string => join(root, 'work', ...names);
const clone = (...names: string[]): string => join(root, 'run', 'clone', ...names);

function write(path: string, content = 'before'): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** A folder of more than a configuration has. */
function writeTools(folder: string): void {
  for (let i = 0; i < 100; i += 1) write(join(folder, `tool-${String(i)}`));
}

/** Remembers what is there, lets `agent` work, and lays it for the clone. */
async function afterAgent(
  agent: () => void,
  environment: Record<string, string> = {},
  large: 'linked' | 'left-out' = 'linked',
) {
  mkdirSync(home(), { recursive: true });
  mkdirSync(join(root, 'tmp'), { recursive: true });
  const surroundings = await rememberSurroundings({
    environment: { HOME: home(), PATH: '/usr/bin', TMPDIR: join(root, 'tmp'), ...environment },
    workspace: work(),
    folder: join(root, 'run', 'surroundings'),
    clones: dirname(clone()),
    large,
  });
  agent();
  const laid = await surroundings.lay(clone());
  const laidHome = laid.environment['HOME'] ?? '';
  const read = (path: string): string =>
    existsSync(join(laidHome, path)) ? readFileSync(join(laidHome, path), 'utf8') : 'absent';
  return { ...laid, laidHome, read };
}

describe("the home folder of a clean clone on a person's machine", () => {
  const links = (folder: string): readonly string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isSymbolicLink())
      .map(({ name }) => name);

  test('has nothing that leads into the real one, and tools are found where they are installed', async () => {
    writeTools(home('.pyenv', 'shims'));
    writeTools(home('.rustup', 'toolchains'));
    writeTools(home('.cargo', 'bin'));
    write(home('dotfiles', 'gitconfig'), 'mine');
    symlinkSync(home('dotfiles', 'gitconfig'), home('.gitconfig'));
    const path = `${home('.pyenv', 'shims')}:${home('.cargo', 'bin')}:/usr/bin`;
    const { laidHome, read, environment } = await afterAgent(() => undefined, { PATH: path }, 'left-out');
    expect(links(laidHome)).toEqual([]);
    expect(read('.gitconfig')).toBe('mine');
    expect(environment).toMatchObject({ PATH: path, RUSTUP_HOME: home('.rustup'), HOME: laidHome });
    expect(environment).not.toHaveProperty('PYENV_ROOT');
    // As `pyenv rehash` does, which finds its folder by HOME.
    write(join(laidHome, '.pyenv', 'shims', 'tool-1'), 'rehashed');
    write(join(laidHome, '.gitconfig'), 'changed');
    expect(readFileSync(home('.pyenv', 'shims', 'tool-1'), 'utf8')).toBe('before');
    expect(readFileSync(home('dotfiles', 'gitconfig'), 'utf8')).toBe('mine');
  });
});

describe('the home folder of a clean clone', () => {
  test.each([
    '.npmrc',
    '.gitconfig',
    '.bashrc',
    '.config/git/config',
    '.config/deep/er/settings.json',
    '.cargo/config.toml',
    '.cache/tool/settings',
  ])('~/%s is what it was, and what the agent adds is not there', async (path) => {
    writeTools(home('.cargo', 'registry'));
    writeTools(home('.cache', 'many'));
    write(home(path));
    const { read } = await afterAgent(() => {
      write(home(path), 'planted');
      write(home(`${path}.d`), 'planted');
      write(home('.planted', 'settings'), 'planted');
    });
    expect([read(path), read(`${path}.d`), read('.planted/settings')]).toEqual(['before', 'absent', 'absent']);
  });

  test('is what it was however many names it has', async () => {
    for (let i = 0; i < 600; i += 1) write(home(`.file-${String(i)}`));
    const { read } = await afterAgent(() => {
      write(home('.planted'));
      write(home('.file-599'), 'planted');
    });
    expect([read('.planted'), read('.file-599')]).toEqual(['absent', 'before']);
  });

  test('is an empty one where there was none', async () => {
    const { read } = await afterAgent(
      () => {
        write(join(root, 'later', '.planted'));
      },
      { HOME: join(root, 'later') },
    );
    expect(read('.planted')).toBe('absent');
  });

  test.each(['.rustup/toolchains/tool-1', '.tools/tool-1'])('a large folder is there: ~/%s', async (path) => {
    writeTools(dirname(home(path)));
    const { read } = await afterAgent(() => undefined);
    expect(read(path)).toBe('before');
  });

  test('the agent can change what is in a large folder, which only a user of its own closes', async () => {
    writeTools(home('.rustup', 'toolchains'));
    const { read } = await afterAgent(() => {
      write(home('.rustup', 'toolchains', 'tool-1'), 'planted');
    });
    expect(read('.rustup/toolchains/tool-1')).toBe('planted');
  });

  test('modes and links stay, and a link into the folder leads into the new one', async () => {
    write(home('.ssh', 'key'));
    chmodSync(home('.ssh', 'key'), 0o600);
    write(home('dotfiles', 'npmrc'));
    symlinkSync('dotfiles/npmrc', home('.npmrc'));
    symlinkSync('/etc/hostname', home('outside'));
    const { read, laidHome } = await afterAgent(() => {
      write(home('dotfiles', 'npmrc'), 'planted');
    });
    expect(read('.npmrc')).toBe('before');
    expect(statSync(join(laidHome, '.ssh', 'key')).mode & 0o777).toBe(0o600);
    expect(read('outside')).toBe(readFileSync('/etc/hostname', 'utf8'));
  });

  test('pipes are left out, and what a verification left is gone at the next', async () => {
    mkdirSync(home());
    execFileSync('mkfifo', [home('pipe')]);
    const { laidHome, remove } = await afterAgent(() => undefined);
    expect(existsSync(join(laidHome, 'pipe'))).toBe(false);
    await remove();
    expect(existsSync(laidHome)).toBe(false);
  });
});

const temporaryOf = ({ TMPDIR = '' }: Readonly<Record<string, string>>) => ({ TMPDIR, TMP: TMPDIR, TEMP: TMPDIR });

describe('the folder for temporary files of a clean clone', () => {
  test('is an empty one in the place of that which the agent had, and is removed', async () => {
    const { environment, remove } = await afterAgent(
      () => {
        write(join(root, 'tmp', 'jest_rs', 'cache'), 'poisoned');
      },
      { TMPDIR: join(root, 'tmp') },
    );
    const { TMPDIR = '' } = environment;
    expect(environment).toMatchObject(temporaryOf(environment));
    expect(dirname(TMPDIR)).toBe(join(root, 'tmp'));
    expect(readdirSync(TMPDIR)).toEqual([]);
    expect(statSync(TMPDIR).mode & 0o777).toBe(0o700);
    await remove();
    expect(existsSync(TMPDIR)).toBe(false);
  });

  test('is elsewhere where there is none', async () => {
    const { environment, remove } = await afterAgent(() => undefined, { TMPDIR: join(root, 'none') });
    expect(environment['TMPDIR']).toContain(join(root, 'run', 'surroundings'));
    await remove();
  });
});

describe('the environment of a clean clone', () => {
  test('names the clone and the new home in place of the work tree and the old one', async () => {
    write(home('.local', 'bin', 'tool'));
    write(work('tools', 'tool'));
    writeTools(home('.cargo', 'bin'));
    const { environment, laidHome } = await afterAgent(
      () => {
        write(join(root, 'later', 'npm'), 'planted');
        write(home('later', 'npm'), 'planted');
      },
      {
        PATH: [
          '/usr/bin',
          home('.local', 'bin'),
          home('.cargo', 'bin'),
          work('tools'),
          home('later'),
          join(root, 'later'),
        ].join(':'),
        CARGO_HOME: home('.cargo'),
        PYTHONPATH: `${work('src')}:lib`,
        https_proxy: 'http://proxy.example:3128',
      },
    );
    expect(environment).toEqual({
      ...temporaryOf(environment),
      HOME: laidHome,
      PATH: ['/usr/bin', join(laidHome, '.local', 'bin'), home('.cargo', 'bin'), clone('tools')].join(':'),
      CARGO_HOME: join(laidHome, '.cargo'),
      PYTHONPATH: `${clone('src')}:lib`,
      https_proxy: 'http://proxy.example:3128',
    });
  });

  test.each([{ HOME: '' }, { HOME: '/' }])(
    'stays as it is where there is no home folder of its own: %j',
    async (given) => {
      const { environment } = await afterAgent(() => undefined, given);
      expect(environment).toEqual({ ...temporaryOf(environment), ...given, PATH: '/usr/bin' });
    },
  );
});

test('in a room, variables that name the work tree name the clean clone, and the home folder is a new one', async () => {
  const environment = {
    HOME: '/room/home',
    PATH: `${work('node_modules/.bin')}:/usr/bin:${work()}`,
    PYTHONPATH: work('src'),
    BESIDE: work('..', 'work-of-others'),
    TEXT: 'nothing',
  };
  const refresh = (): Promise<string> => Promise.resolve('/room/new-home');
  const laid = await surroundingsInRoom({ environment, workspace: work() }, refresh).lay(clone());
  expect(laid).toMatchObject({
    environment: {
      ...environment,
      HOME: '/room/new-home',
      PATH: `${clone('node_modules/.bin')}:/usr/bin:${clone()}`,
      PYTHONPATH: clone('src'),
    },
    hidden: [],
  });
});
