import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { rememberSurroundings, createSandboxSurroundings } from '../../../src/processes/clean-surroundings.ts';

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

/** Creates a folder with more files than a configuration has. */
function writeTools(folder: string): void {
  for (let i = 0; i < 100; i += 1) write(join(folder, `tool-${String(i)}`));
}

/** Records the current files, lets `agent` work, and prepares the surroundings for the clone. */
async function afterAgent(agent: () => void, environment: Record<string, string> = {}) {
  mkdirSync(home(), { recursive: true });
  mkdirSync(join(root, 'tmp'), { recursive: true });
  const surroundings = await rememberSurroundings({
    environment: { HOME: home(), PATH: '/usr/bin', TMPDIR: join(root, 'tmp'), ...environment },
    workspace: work(),
    folder: join(root, 'run', 'surroundings'),
    trees: dirname(clone()),
  });
  agent();
  const laid = await surroundings.prepareFor(clone());
  return { ...laid, laidHome: laid.environment['HOME'] ?? '' };
}

describe('the home folder of a clean tree', () => {
  test('is empty, whatever is in the real one, and nothing leads into that; tools are found where they are installed', async () => {
    writeTools(home('.pyenv', 'shims'));
    writeTools(home('.rustup', 'toolchains'));
    writeTools(home('.cargo', 'bin'));
    write(home('.gitconfig'), 'mine');
    const path = `${home('.pyenv', 'shims')}:${home('.cargo', 'bin')}:/usr/bin`;
    const { laidHome, environment } = await afterAgent(
      () => {
        write(home('.planted', 'settings'), 'planted');
      },
      { PATH: path },
    );
    expect(readdirSync(laidHome)).toEqual([]);
    expect(statSync(laidHome).mode & 0o777).toBe(0o700);
    expect(environment).toMatchObject({ PATH: path, RUSTUP_HOME: home('.rustup'), HOME: laidHome });
    expect(environment).not.toHaveProperty('PYENV_ROOT');
    // `pyenv rehash` does this; it finds its folder by HOME.
    write(join(laidHome, '.pyenv', 'shims', 'tool-1'), 'rehashed');
    expect(readFileSync(home('.pyenv', 'shims', 'tool-1'), 'utf8')).toBe('before');
  });

  test('leftovers of a verification are gone before the next one', async () => {
    const { laidHome, remove } = await afterAgent(() => undefined);
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

  test('is elsewhere without one', async () => {
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
      PATH: ['/usr/bin', home('.local', 'bin'), home('.cargo', 'bin'), clone('tools')].join(':'),
      CARGO_HOME: home('.cargo'),
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

test('in a sandbox, variables that name the work tree name the clean clone, and the home folder is a new one', async () => {
  const environment = {
    HOME: '/sandbox/home',
    PATH: `${work('node_modules/.bin')}:/usr/bin:${work()}`,
    PYTHONPATH: work('src'),
    BESIDE: work('..', 'work-of-others'),
    TEXT: 'nothing',
  };
  const refresh = (): Promise<string> => Promise.resolve('/sandbox/new-home');
  const laid = await createSandboxSurroundings(
    { environment, workspace: work(), seenAt: (tree) => tree },
    refresh,
  ).prepareFor(clone());
  expect(laid).toMatchObject({
    environment: {
      ...environment,
      HOME: '/sandbox/new-home',
      PATH: `${clone('node_modules/.bin')}:/usr/bin:${clone()}`,
      PYTHONPATH: clone('src'),
    },
    hidden: [],
  });
});
