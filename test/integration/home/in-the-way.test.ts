import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { createCheckoutFiles } from '../../../src/wiring/home/checkout-state.ts';
import { noOwnMachine, startOwnMachine } from '../../own-machine.ts';
import { rows } from '../../runs.ts';
import { personsCheckout } from './home-fixture.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

type Scene = Awaited<ReturnType<typeof personsCheckout>>;

/** Creates a folder outside of the checkout, with a file in it. */
async function outside({ folder }: Scene, name: string): Promise<string> {
  const path = join(folder, 'outside');
  await mkdir(path);
  await writeFile(join(path, name), 'mine\n');
  return path;
}

describe('an object in the place of the journal is left alone: one warning, and the run continues', () => {
  interface Row {
    readonly what: string;
    readonly prepare: (scene: Scene) => Promise<unknown>;
    readonly says: string;
  }
  // The other rows are variants.
  test.each<Row>(
    rows<Row>(2, [
      {
        what: 'logs is a link to a folder',
        prepare: async (scene) => symlink(await outside(scene, 'journal.jsonl'), join(scene.checkout, '.ralph/logs')),
        says: '.ralph/logs is a link',
      },
      {
        what: 'journal.jsonl is a link to a file',
        prepare: async (scene) => {
          await mkdir(join(scene.checkout, '.ralph/logs'));
          await symlink(
            join(await outside(scene, 'journal.jsonl'), 'journal.jsonl'),
            join(scene.checkout, '.ralph/logs/journal.jsonl'),
          );
        },
        says: 'journal.jsonl is a link, a folder or a pipe',
      },
      {
        what: 'logs is a file',
        prepare: (scene) => writeFile(join(scene.checkout, '.ralph/logs'), 'mine\n'),
        says: '.ralph/logs is not a folder',
      },
      {
        what: 'journal.jsonl is a folder',
        prepare: (scene) => mkdir(join(scene.checkout, '.ralph/logs/journal.jsonl'), { recursive: true }),
        says: 'journal.jsonl is a link, a folder or a pipe',
      },
    ]),
  )('$what', async ({ prepare, says }) => {
    await using scene = await personsCheckout();
    await prepare(scene);
    const { code, out } = await scene.start(['--once']).ended;
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining(says) as string });
    expect(
      out
        .split('\n')
        .filter((line) => line.includes('The journal cannot be kept in .ralph/logs and is lost when this run ends')),
    ).toHaveLength(1);
    expect(out).not.toMatch(/^ +at /m);
    expect(scene.git('rev-list', '--count', 'main..ralph/queue')).toBe('1');
    const precious = join(scene.folder, 'outside');
    if (existsSync(precious)) {
      expect(await readdir(precious)).toEqual(['journal.jsonl']);
      expect(await readFile(join(precious, 'journal.jsonl'), 'utf8')).toBe('mine\n');
    }
  });

  test('the journal of the run before gives way to that of the new one', async () => {
    await using scene = await personsCheckout();
    const journal = async (): Promise<string> => readFile(join(scene.checkout, '.ralph/logs/journal.jsonl'), 'utf8');
    await scene.start(['--once']).ended;
    const first = await journal();
    await scene.start(['--once']).ended;
    expect(await journal()).not.toContain(first.split('\n')[0]);
  });
});

describe('state is never kept through a link: the run is refused before anything begins', () => {
  interface Row {
    readonly what: string;
    readonly prepare: (scene: Scene) => Promise<unknown>;
    readonly says: RegExp;
  }
  const links: readonly Row[] = [
    {
      what: '.ralph is a link',
      prepare: async ({ folder, checkout }) => {
        await rename(join(checkout, '.ralph'), join(folder, 'outside'));
        await symlink(join(folder, 'outside'), join(checkout, '.ralph'));
      },
      says: /shop\/\.ralph is a link; put a folder in its place\./,
    },
    {
      what: '.ralph/state is a link',
      prepare: async (scene) => symlink(await outside(scene, 'mine.txt'), join(scene.checkout, '.ralph/state')),
      says: /shop\/\.ralph\/state is a link; put a folder in its place\./,
    },
    {
      what: '.ralph is a link to nothing',
      prepare: async ({ checkout }) => {
        await rm(join(checkout, '.ralph'), { recursive: true });
        await symlink('gone', join(checkout, '.ralph'));
      },
      says: /shop\/\.ralph is a link; put a folder in its place\./,
    },
    {
      what: '.ralph/state is a file',
      prepare: ({ checkout }) => writeFile(join(checkout, '.ralph/state'), 'mine\n'),
      says: /shop\/\.ralph\/state is not a folder; put a folder in its place\./,
    },
  ];
  // The other rows are variants.
  test.each(rows(2, links))('$what', async ({ prepare, says }) => {
    await using scene = await personsCheckout();
    await prepare(scene);
    const before = await readdir(scene.folder, { recursive: true });
    for (const args of [['--once'], ['--dry-run']]) {
      const { code, out } = await scene.start(args).ended;
      expect({ code, out }).toMatchObject({ code: 2, out: expect.stringMatching(says) as string });
      expect(out).not.toContain('▶');
    }
    const after = await readdir(scene.folder, { recursive: true });
    expect(after.filter((path) => !before.includes(path) && !path.startsWith('home'))).toEqual([]);
  });
});

test('an order is not written through a link either', async () => {
  await using scene = await personsCheckout();
  const path = await outside(scene, 'mine.txt');
  await rm(join(scene.checkout, '.ralph'), { recursive: true });
  await symlink(path, join(scene.checkout, '.ralph'));
  const why = expect.stringContaining('.ralph is a link') as string;
  const files = createCheckoutFiles(scene.checkout);
  expect(await files.write('queue', null, 'text')).toEqual({ kind: 'unavailable', why });
  expect(await files.read('queue')).toEqual({ kind: 'unavailable', why });
  expect(await readdir(path)).toEqual(['mine.txt']);
});

test('--push without a remote is refused before anything begins', async () => {
  await using scene = await personsCheckout();
  const { code, out } = await scene.start(['--once', '--push']).ended;
  expect({ code, out }).toMatchObject({ code: 2, out: expect.stringContaining('has no remote "origin"') as string });
  expect(existsSync(join(scene.checkout, '.ralph/state'))).toBe(false);
  expect((await scene.start(['--once']).ended).code).toBe(0);
});

test('leftovers of an earlier run are removed only from the folder of this checkout, whatever the state says', async () => {
  await using scene = await personsCheckout();
  const path = await outside(scene, 'mine.txt');
  const { checkout } = scene;
  await mkdir(join(checkout, '.ralph/state'));
  const killed = { version: 1, number: 1, pid: 1, birth: 'long ago', host: hostname(), runTag: 'x', isOver: false };
  await writeFile(
    join(checkout, '.ralph/state/run.1.json'),
    JSON.stringify({ ...killed, runFolder: path, startedAt: 0 }),
  );
  const { code, out } = await scene.start(['--once']).ended;
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('was killed') as string });
  expect(out).toContain(`${path}, does not belong to this checkout, so nothing in it is removed`);
  expect(await readdir(path)).toEqual(['mine.txt']);
});

test('a checkout without .git/info gets one', async () => {
  await using scene = await personsCheckout();
  await rm(join(scene.checkout, '.git/info'), { recursive: true, force: true });
  const { code, out } = await scene.start(['--once']).ended;
  expect({ code, out }).toMatchObject({ code: 0 });
  expect(scene.git('status', '--porcelain')).toBe('');
});

test('an ignored .env is not where the agent works and verify runs, and the run says so; other ignored files are', async () => {
  await using scene = await personsCheckout();
  await writeFile(join(scene.checkout, '.gitignore'), '.env\nout/\n');
  scene.git('add', '.gitignore');
  scene.git('commit', '--quiet', '--message=Ignore');
  await writeFile(join(scene.checkout, '.env'), 'TOKEN=mine\n');
  await mkdir(join(scene.checkout, 'out'));
  await writeFile(join(scene.checkout, 'out/built.js'), 'built\n');
  const seen = join(scene.folder, 'seen');
  const { code, out } = await scene.start(['--once', '--input', `verify=ls -A . out >> ${seen}`]).ended;
  expect({ code, out }).toMatchObject({
    code: 0,
    out: expect.stringMatching(/whose names suggest secrets.*: \.env\./) as string,
  });
  const names = (await readFile(seen, 'utf8')).split('\n');
  expect(names).toContain('built.js');
  expect(names).not.toContain('.env');
  expect((await scene.start(['--dry-run']).ended).out).toContain('whose names suggest secrets');
});

test('Ctrl-C while files are copied ends the run without a call', async () => {
  await using scene = await personsCheckout();
  const run = scene.start([]);
  await run.says('Copying main to');
  run.kill('SIGINT');
  const { code, out } = await run.ended;
  expect({ code, out }).toMatchObject({
    code: 0,
    out: expect.stringContaining('Stopped by you (Ctrl-C); no call was made') as string,
  });
  expect(out).not.toContain('▶ Iteration');
  expect((await scene.start(['--once']).ended).code).toBe(0);
});

test.skipIf(noOwnMachine !== null)('at namespace the checkout itself is not there, wherever it is', async () => {
  // A folder that every user of the machine may read, outside the folders for temporary files.
  const parent = join(root, '.cache');
  await mkdir(parent, { recursive: true });
  await using scene = await personsCheckout(parent);
  await chmod(scene.folder, 0o755);
  await using machine = await startOwnMachine(null);
  const plan = join(scene.checkout, '.ralph/fix_plan.md');
  const asked = ['--once', '--dir', scene.checkout, '--isolation', 'namespace', '--input', `verify=! test -e ${plan}`];
  const [first = '', ...around] = machine.around;
  const { stdout } = await promisify(execFile)(
    first,
    [
      ...around,
      process.execPath,
      join(inject('programs'), 'ralph.mjs'),
      'run',
      ...asked,
      '--agent-path',
      join(inject('programs'), 'scripted-agent.mjs'),
    ],
    {
      env: {
        ...{ PATH: process.env.PATH ?? '', HOME: join(scene.folder, 'home'), TMPDIR: tmpdir() },
        ANTHROPIC_API_KEY: 'sk-ant-api03-not-a-key',
      },
    },
  );
  expect(stdout).toContain('Isolation: namespace');
  expect(stdout).toContain(`verify passed: ! test -e ${plan}`);
});
