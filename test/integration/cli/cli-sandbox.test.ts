import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { git } from '../../../testbed/git.ts';
import { isGood, tryRepository } from '../../../testbed/own-repository/try.ts';
import { createInitCommand } from '../../../src/cli/setup/init.ts';
import type { SetupReport } from '../../../src/cli/setup/setup-schema.ts';
import { openSandbox } from '../../../src/wiring/sandbox.ts';
import { openSetup, findInstallSource } from '../../../src/wiring/setup.ts';

const WORKFLOW = '.github/workflows/ralph.yml';
const PACKAGE = new URL('../../../', import.meta.url);
const template = await readFile(new URL('templates/workflows/ralph.yml', PACKAGE), 'utf8');
const COMMIT = 'a'.repeat(40);

let folder = '';
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'ralph-sandbox-test-')));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

async function lay(files: Readonly<Record<string, string>>, at = folder): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(at, path)), { recursive: true });
    await writeFile(join(at, path), text);
  }
}

async function commitAll(at = folder): Promise<string> {
  await git(at, ['init', '--quiet', '--initial-branch=main']);
  await git(at, ['add', '--all']);
  await git(at, ['commit', '--quiet', '--allow-empty', '--message', 'Start']);
  return git(at, ['rev-parse', 'HEAD']);
}

/** Creates the package as npm installs it, without a lockfile. */
async function installed(resolved: string): Promise<URL> {
  const lock = { packages: { 'node_modules/ralph-action': { version: '1.0.0', resolved } } };
  await lay({
    'npx/node_modules/.package-lock.json': JSON.stringify(lock),
    'npx/node_modules/ralph-action/action.yml': '',
  });
  return pathToFileURL(join(folder, 'npx/node_modules/ralph-action/'));
}

async function play(root: URL, ...args: readonly string[]) {
  let said = '';
  const say = (text: string): void => void (said += text);
  const end = await openSandbox(root)(args, { out: say, error: say });
  return { ...end, said };
}

describe('ralph sandbox', () => {
  const program = {
    'package-lock.json': '{}',
    'scripts/dev.mjs': "console.log(process.argv.slice(2).join(' ')); process.exitCode = 1;",
  };

  test('in a clone: starts what the clone has, and ends as it does', async () => {
    await lay(program);
    expect(await play(pathToFileURL(`${folder}/`), '--repo=/a', '--commands')).toEqual({
      kind: 'ended',
      code: 1,
      said: 'sandbox --repo=/a --commands\n',
    });
  });

  test('installed by npm from git: fetches a clone of the same commit, once, and says where to', async () => {
    const source = join(folder, 'source');
    await lay(program, source);
    const commit = await commitAll(source);
    await lay({ 'scripts/dev.mjs': '' }, source);
    await commitAll(source);
    vi.stubEnv('XDG_CACHE_HOME', join(folder, 'caches'));
    const root = await installed(`git+${pathToFileURL(source).href}#${commit}`);
    const first = await play(root, '--repo=/a');
    expect(first).toMatchObject({ kind: 'ended', code: 1 });
    expect(first.said).toContain(join(folder, 'caches', 'ralph-action', commit));
    await rm(source, { recursive: true });
    expect(await play(root, '--repo=/a')).toMatchObject({ said: 'sandbox --repo=/a\n' });
  });

  test.each([
    ['from a registry', 'https://registry.npmjs.org/ralph-action/-/ralph-action-1.0.0.tgz', 'Clone the repository'],
    ['from a server that is gone', `git+file:///there/is/no/such/repository#${COMMIT}`, '/there/is/no/such/repository'],
  ])('installed %s: a sentence', async (_, resolved, why) => {
    vi.stubEnv('XDG_CACHE_HOME', join(folder, 'caches'));
    const end = await play(await installed(resolved));
    expect(end).toMatchObject({ kind: 'missing', why: expect.stringContaining(why) });
  });
});

test.each([
  ['git+ssh://git@github.com/acme/ralph-action.git', 'https://github.com/acme/ralph-action.git', 'acme/ralph-action'],
  ['git+https://git.example/acme/ralph.git', 'https://git.example/acme/ralph.git', 'acme/ralph'],
])('npm fetched the package from %s', async (address, url, repository) => {
  expect(await findInstallSource(await installed(`${address}#${COMMIT}`))).toEqual({ url, commit: COMMIT, repository });
});

describe('init names the repository that it comes from', () => {
  const ours = [
    'action.yml',
    'templates/workflows/ralph.yml',
    'templates/workflows/three-jobs.yml',
    'templates/PROMPT.md',
  ];
  const cloneOf = (url: string) => async (): Promise<URL> => {
    const clone = join(folder, 'clone');
    await mkdir(clone);
    await git(clone, ['init', '--quiet']);
    await git(clone, ['remote', 'add', 'origin', url]);
    return pathToFileURL(`${clone}/`);
  };
  const within = async (): Promise<URL> => new URL('vendor/ralph/', await cloneOf('https://github.com/acme/shop')());

  test.each<[string, () => Promise<URL>, string]>([
    [
      'fetched by npx',
      () => installed(`git+ssh://git@github.com/acme/ralph-action.git#${COMMIT}`),
      'acme/ralph-action',
    ],
    ['a clone', cloneOf('git@github.com:acme/ralph-action.git'), 'acme/ralph-action'],
    ['a clone of a fork with another name', cloneOf('https://github.com/ann/my-ralph'), 'ann/my-ralph'],
    ['a clone from elsewhere', cloneOf('https://git.example/acme/ralph-action'), 'OWNER/ralph-action'],
    ["a folder of somebody's own repository", within, 'OWNER/ralph-action'],
  ])('%s', async (_, lie, action) => {
    const root = await lie();
    for (const path of ours) {
      const file = fileURLToPath(new URL(path, root));
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, await readFile(new URL(path, PACKAGE)));
    }
    await git(folder, ['init', '--quiet']);
    await expectAction(root, action);
  });
});

async function expectAction(root: URL, action: string): Promise<void> {
  let out = '';
  const command = createInitCommand(() => openSetup(root));
  const terminal = {
    stdin: process.stdin,
    out: (text: string) => void (out += text),
    error: () => undefined,
    now: () => 0,
  };
  expect(await command.run(['--json', '--dir', folder], terminal)).toBe('done');
  const { files, byHand } = JSON.parse(out) as SetupReport;
  expect(files[0]?.text).toContain(`uses: ${action}/.github/workflows/ralph.yml@v1\n`);
  expect(byHand.filter(({ what }) => what.includes('OWNER'))).toHaveLength(action.startsWith('OWNER') ? 1 : 0);
}

/** Tries a person's repository without an event whose run would start a program. */
const tryOut = (at = folder, out: string | null = null) =>
  tryRepository({ folder: at, commands: 'leave', out, print: () => undefined });

describe('a repository that cannot be tried', () => {
  test.each<[string, () => Promise<unknown>, string]>([
    ['without git', async () => undefined, 'is not in a git checkout. (git says: fatal: not a git repository'],
    ['without a commit', () => git(folder, ['init', '--quiet']), 'has no commit yet'],
    ['without a workflow', () => commitAll(), 'run ralph init'],
    [
      'with a workflow of something else',
      () =>
        lay({ '.github/workflows/ci.yml': template.replace('/ralph-action@', '/other-action@') }).then(() =>
          commitAll(),
        ),
      'No workflow in .github/workflows/ uses ralph-action',
    ],
    [
      'with a workflow that is not YAML',
      () => lay({ [WORKFLOW]: template.replace('on:', 'on: [') }).then(() => commitAll()),
      'cannot read this workflow',
    ],
    [
      'with a workflow of two jobs',
      () =>
        lay({ [WORKFLOW]: `${template}\n  other:\n    runs-on: x\n    steps: [{ run: x }]\n` }).then(() => commitAll()),
      'workflows with one job',
    ],
  ])('%s: a sentence', async (_, make, why) => {
    await make();
    await expect(tryOut()).rejects.toThrow(why);
  });

  test('a folder that does not exist, and a shallow clone', async () => {
    await expect(tryOut(join(folder, 'nowhere'))).rejects.toThrow('does not exist');
    await lay({ [WORKFLOW]: template });
    await commitAll();
    await commitAll();
    await git(folder, ['clone', '--quiet', '--depth=1', pathToFileURL(folder).href, 'shallow']);
    await expect(tryOut(join(folder, 'shallow'))).rejects.toThrow('run git fetch --unshallow');
  });
});

test('events that the workflow does not name start nothing, and a workflow with only those is not good', async () => {
  await lay({ [WORKFLOW]: template.replace(/^on:\n[^]*?\n\n/m, 'on: push\n\n') });
  await commitAll();
  const tried = await tryOut();
  expect(tried.map(({ end }) => end)).toEqual(['none', 'none', 'none']);
  expect(isGood(tried)).toBe(false);
});

test('a copy of the action under another name is played as the action', async () => {
  const text = template.replace('OWNER/ralph-action', 'ann/my-ralph').replace('# verify:', 'verify:');
  await lay({ [WORKFLOW]: text.replace(/^ {4}if: .*$/m, '    if: false') });
  await commitAll();
  const tried = await tryOut();
  expect(tried.map(({ end }) => end)).toEqual(['bad', 'bad', 'bad']);
});

test('a condition that never holds is not good; the work tree counts, and stays as it is', async () => {
  await lay({ [WORKFLOW]: 'name: broken' });
  await commitAll();
  await lay({ [WORKFLOW]: template.replace(/^ {4}if: .*$/m, '    if: false') });
  const out = join(folder, '.git', 'out');
  const tried = await tryOut(folder, out);
  expect(tried.map(({ end }) => end)).toEqual(['bad', 'bad', 'bad']);
  expect(await readdir(out)).toContain('remote.git');
  await expect(tryOut(folder, out)).rejects.toThrow('is not empty');
  expect(await git(folder, ['status', '--porcelain'])).toBe(` M ${WORKFLOW}`);
});
