import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPerson } from '../../../src/cli/setup/person.ts';
import type { Person } from '../../../src/cli/setup/setup-world.ts';
import type { SetupChoices } from '../../../src/core/setup/files.ts';
import { setupReportSchema } from '../../../src/cli/setup/setup-schema.ts';
import { runGit } from '../../integration/git/git-fixture.ts';
import { ralph } from './fixture.ts';
import { publishedSchema } from '../../published-schema.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ralph-init-'));
  await runGit(folder, ['init', '-q', '-b', 'trunk']);
  await runGit(folder, ['remote', 'add', 'origin', 'git@ghe.example:acme/shop.git']);
  await writeFile(join(folder, 'package.json'), '{"scripts":{"test":"vitest"}}');
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const init = (...args: readonly string[]) => ralph(['init', '--dir', folder, ...args]);
const files = async (): Promise<string> => runGit(folder, ['ls-files', '--others', '--exclude-standard']);

test('the published schema is the one in the code', async () => {
  const published = await readFile(new URL('../../../schemas/ralph-init.schema.json', import.meta.url), 'utf8');
  expect(JSON.parse(published)).toEqual(publishedSchema('ralph init --json', setupReportSchema));
});

test('writes once, changes nothing the second time, and takes everything back', async () => {
  const before = await files();
  const first = await init('--yes');
  expect(first).toMatchObject({ code: 0, error: '' });
  expect(first.out).toContain('https://ghe.example/acme/shop/settings/secrets/actions/new');
  expect(first.out).toContain('at most $5');
  expect(first.out).toContain('onto trunk');
  const written = await files();
  expect(written).toContain('.github/workflows/ralph.yml');
  expect((await init('--yes')).out).toContain('Nothing to change.');
  expect(await files()).toBe(written);
  const removal = await init('--remove', '--yes');
  expect(removal).toMatchObject({ code: 0 });
  expect(removal.out).toMatch(/^---[^]*\nRemoved what init wrote and nobody changed\.\n$/);
  expect(await files()).toBe(before);
});

test("a person's changes stay", async () => {
  await init('--yes');
  const path = join(folder, '.ralph/AGENT.md');
  await writeFile(path, 'mine\n');
  expect((await init('--yes')).out).toContain('.ralph/AGENT.md already exists and differs');
  const { out } = await init('--remove', '--yes');
  expect(out).toContain('.ralph/AGENT.md is not as init wrote it, so it stays as it is.');
  expect(out).not.toContain('would have written');
  expect(await readFile(path, 'utf8')).toBe('mine\n');
});

test('steps that a person has already done in the workflow are not listed again', async () => {
  const path = join(folder, '.github/workflows/ralph.yml');
  await writeFile(join(folder, 'package.json'), '{}');
  // The value is that of an installation that does not know the action's repository.
  const first = (await init('--yes', '--action', 'OWNER/ralph-action@v1')).out;
  expect(first).toContain('replace OWNER');
  expect(first).toContain('Set verify');
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.replace('OWNER/', 'acme/').replace('# verify:', 'verify:'));
  const { out } = await init('--yes');
  expect(out).not.toContain('replace OWNER');
  expect(out).not.toContain('Set verify');
});

test('another workflow of the same name stays, and init says what to do about it', async () => {
  await mkdir(join(folder, '.github/workflows'), { recursive: true });
  await writeFile(join(folder, '.github/workflows/ralph.yml'), 'on: push\njobs: {}\n');
  const { out } = await init('--yes');
  expect(out).toContain('1. Rename .github/workflows/ralph.yml, which does not use ralph-action, and run init again');
  expect(out).not.toContain('replace OWNER');
});

test('a workflow that uses the action under another name of a file is not doubled', async () => {
  const path = '.github/workflows/agent.yaml';
  await init('--yes', '--action', 'OWNER/ralph-action@v1');
  const text = await readFile(join(folder, '.github/workflows/ralph.yml'), 'utf8');
  await init('--yes', '--remove');
  await mkdir(join(folder, '.github/workflows'), { recursive: true });
  await writeFile(join(folder, path), text.replace(/^ +verify:.*\n/m, ''));
  const { out } = await init('--yes');
  expect(out).toContain(`  a workflow for Ralph in ${path}\n`);
  expect(out).toContain(`Set verify in ${path}`);
  expect(out).toContain(`In ${path}, replace OWNER`);
  expect(await files()).toContain('.ralph/AGENT.md');
  expect(await files()).not.toContain('ralph.yml');
  expect((await init('--yes')).out).toContain('Nothing to change.');
});

test('a workflow with a copy of the action under another name is not one to rename', async () => {
  const path = join(folder, '.github/workflows/ralph.yml');
  expect((await init('--yes', '--action', 'acme/my-ralph@v1')).out).not.toContain('Rename');
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.replace(/^# Written by.*\n/m, ''));
  const { out } = await init('--yes');
  expect(out).toContain('ralph.yml already exists and differs');
  expect(out).not.toContain('Rename');
});

test.each<[string, number, string, string]>([
  ['new and executable', 0o755, '', './gradlew test'],
  ['new and not executable', 0o644, '', 'sh ./gradlew test'],
  ['executable here, but not in git', 0o755, '-x', 'sh ./gradlew test'],
  ['executable in git, whatever it is here', 0o644, '+x', './gradlew test'],
])('a wrapper that is %s', async (_, mode, inGit, verify) => {
  await writeFile(join(folder, 'package.json'), '{}');
  await writeFile(join(folder, 'build.gradle'), '');
  await writeFile(join(folder, 'gradlew'), '#!/bin/sh\n', { mode });
  if (inGit !== '') await runGit(folder, ['add', `--chmod=${inGit}`, 'gradlew']);
  await init('--yes');
  expect(await readFile(join(folder, '.github/workflows/ralph.yml'), 'utf8')).toContain(` verify: ${verify}\n`);
});

test('a feature branch is not called the default branch', async () => {
  await runGit(folder, ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'x']);
  expect((await init('--yes')).out).toContain('onto trunk');
  await runGit(folder, ['checkout', '-q', '-b', 'feature/x']);
  expect((await init('--yes')).out).toContain('onto the default branch');
  await runGit(folder, ['symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/trunk']);
  expect((await init('--yes')).out).toContain('onto trunk');
});

test('a package.json that is not JSON is named, with what to do', async () => {
  await writeFile(join(folder, 'package.json'), '{ "scripts": ');
  expect((await init('--yes')).out).toContain(
    '1. Repair package.json: it is not a JSON object, so its commands were not found. Then run init with --remove, and run init again.',
  );
});

describe('the settings of a .ralphrc', () => {
  const workflow = async (): Promise<string> => readFile(join(folder, '.github/workflows/ralph.yml'), 'utf8');
  const rc = 'TEST_COMMAND="make check"\nGITHUB_TASK_LABEL=agent\n';

  test.each(['.ralphrc', '.ralph/.ralphrc'])('in %s is left to it, and init says so', async (path) => {
    await mkdir(join(folder, '.ralph'), { recursive: true });
    await writeFile(join(folder, path), rc);
    const { out } = await init('--yes');
    const text = await workflow();
    expect(text).not.toMatch(/^\s*(?:verify|task-label):/m);
    expect(text).toContain(`# verify: set in ${path}`);
    expect(text).toContain("github.event.label.name == 'agent'");
    expect(out).toContain(`${path} sets task-label, verify: the workflow changes none of them`);
    expect(out).toContain('Create the label agent, then put it on an issue.');
    expect(out).not.toContain('Set verify');
    expect(await readFile(join(folder, '.github/ISSUE_TEMPLATE/ralph-task.yml'), 'utf8')).toContain('labels: [agent]');
  });

  test('of three jobs the first one waits for its label', async () => {
    await writeFile(join(folder, '.ralphrc'), rc);
    await init('--yes', '--workflow', 'three-jobs');
    expect(await workflow()).toContain('    with:\n      # verify: set in .ralphrc\n      task-label: agent #');
  });

  test('comes after the command that somebody names', async () => {
    await writeFile(join(folder, '.ralphrc'), rc);
    const { out } = await init('--yes', '--verify', 'make all');
    expect(await workflow()).toContain('verify: make all');
    expect(out).toContain('.ralphrc sets task-label: the');
  });

  test('is named in the JSON', async () => {
    await writeFile(join(folder, '.ralphrc'), rc);
    const { out } = await init('--json');
    expect(JSON.parse(out)).toMatchObject({ leftToFile: { path: '.ralphrc', inputs: ['task-label', 'verify'] } });
  });

  test('and cannot be used is left to fix', async () => {
    await writeFile(join(folder, '.ralphrc'), 'MAX_CALLS_PER_HOUR=-1\nTEST_COMMAND=$(cat x)\n');
    const { out } = await init('--yes');
    expect(out).toContain('Fix this setting, which fails every run: .ralphrc:2: ');
    expect(out).toContain('Fix this setting, which fails every run: .ralphrc:1: MAX_CALLS_PER_HOUR ');
    expect(await workflow()).toMatch(/^\s*verify: npm/m);
  });
});

test('services that another workflow starts are left to copy, until they are', async () => {
  await mkdir(join(folder, '.github/workflows'), { recursive: true });
  const services = '    services:\n      db:\n        image: postgres:18\n';
  await writeFile(join(folder, '.github/workflows/ci.yml'), `jobs:\n  test:\n${services}`);
  expect((await init('--yes')).out).toContain('If the tests need the services of .github/workflows/ci.yml');
  const path = join(folder, '.github/workflows/ralph.yml');
  await writeFile(path, (await readFile(path, 'utf8')).replace(/^ {4}steps:\n/m, `${services}$&`));
  expect((await init('--yes')).out).not.toContain('services of');
});

test('init says what it takes from CI, what CI also runs, and what it leaves out', async () => {
  await mkdir(join(folder, '.github/workflows'), { recursive: true });
  const steps =
    '[{ run: npm ci }, { run: npm run lint }, { run: npm test }, { run: "npm run test:live ${{ secrets.KEY }}" }]';
  const ci = `on: pull_request\njobs:\n  unit:\n    runs-on: ubuntu-latest\n    steps: ${steps}\n`;
  await writeFile(join(folder, '.github/workflows/ci.yml'), ci);
  const { out } = await init('--yes', '--agent', 'codex');
  expect(out).toContain('  set-up and verify as in .github/workflows/ci.yml (unit)\n');
  expect(out).toContain('  not proposed: npm run test:live ${{ secrets.KEY }} (it needs a secret)\n');
  expect(out).toContain('add the ones that must pass to verify:\n  npm run lint\n');
  expect(out).toContain('Add the secret OPENAI_API_KEY.');
  expect(out).toContain('ralph doctor --verify');
  const { project } = JSON.parse((await init('--json')).out) as { project: { ci: object } };
  expect(project.ci).toEqual({
    from: ['.github/workflows/ci.yml (unit)'],
    offered: ['npm run lint'],
    unread: [{ what: 'npm run test:live ${{ secrets.KEY }}', why: 'it needs a secret' }],
  });
  await init('--yes', '--remove');
  expect((await files()).split('\n').filter((path) => /ralph/.test(path))).toEqual([]);
});

test('a login in place of a key is left to do by hand, and so is a program of a person', async () => {
  const login = (await init('--yes', '--key', 'google')).out;
  expect(login).toContain('Let Google Vertex AI trust the repository');
  expect(login).toContain(
    'fill in google-workload-identity-provider, google-service-account in .github/workflows/ralph.yml.',
  );
  expect(login).not.toMatch(/Add the secret|Rename/);
  await init('--yes', '--remove');
  const own = (await init('--yes', '--agent', 'acp', '--agent-path', 'bin/agent')).out;
  expect(own).toContain('Let a step of the set-up install bin/agent');
  expect(own).not.toContain('Add the secret');
});

test('a file that git ignores must be added by force', async () => {
  await writeFile(join(folder, '.gitignore'), '.ralph/\n');
  expect((await init('--yes')).out).toContain(
    '. Add .ralph/AGENT.md with git add --force, or change .gitignore: git ignores it.',
  );
  await runGit(folder, ['add', '--force', '.ralph/AGENT.md']);
  expect((await init('--yes')).out).not.toContain('--force');
});

test('line ends of Windows are not shown', async () => {
  await writeFile(join(folder, '.gitignore'), 'a\r\n');
  expect((await init('--yes')).out).toContain('\n a\n+\n+# Added by ralph init');
});

test('--json prints the plan and writes nothing without --yes', async () => {
  const before = await files();
  const { code, out } = await init('--json');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({
    written: false,
    project: { defaultBranch: 'trunk', stacks: [{ test: 'npm test' }] },
    maxCostUsd: { run: 5, day: 20 },
  });
  expect(await files()).toBe(before);
});

test.skipIf(process.getuid?.() === 0).each<[string, string]>([
  ['of the checkout', '.'],
  ['of some files', '.github'],
])('a folder %s that may not be written to: nothing is, and init says which', async (_, name) => {
  const place = join(await realpath(folder), name);
  await mkdir(place, { recursive: true });
  const before = await files();
  await chmod(place, 0o555);
  try {
    const { code, error } = await init('--yes');
    expect({ code, error }).toEqual({
      code: 1,
      error: `ralph init: "${place}" cannot be written to: no permission.\nralph init: nothing was changed. Make it writable for your user, or use a checkout of your own, and run init again.\n`,
    });
    expect(await files()).toBe(before);
  } finally {
    await chmod(place, 0o755);
  }
});

describe('a person who gives up', () => {
  const found: SetupChoices = {
    ...{ shape: 'single', verify: ['npm test'], agent: 'claude', agentPath: '', key: 'api-key' },
    ...{ action: null, prompt: false },
    ...{ label: 'ralph', repository: null, leftTo: null },
  };
  /** Types each text after the screen shows something new. */
  async function answer<T>(keys: readonly string[], ask: (person: Person) => Promise<T>): Promise<T> {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const left = [...keys];
    output.on('data', (shown: Buffer) => {
      // A question that is drawn again after a key has no mark of its own in what changes.
      if (!/[◆◻◼●]/u.test(shown.toString())) return;
      const key = left.shift();
      if (key !== undefined) setImmediate(() => input.write(key));
    });
    return ask(createPerson({ input, output }));
  }

  test.each(['\u0003', '\u0004'])('at any question, with %j', async (key) => {
    const enters = ['\r', '\r', '\r', '\r', '\r', '\r'];
    const choose = (person: Person): Promise<SetupChoices | null> => person.choose(found, ['npm run lint']);
    expect(await answer(enters, choose)).toEqual(found);
    for (const before of [0, 1, 2, 3, 4, 5]) expect(await answer([...enters.slice(0, before), key], choose)).toBeNull();
    expect(await answer([key], (person) => person.confirm('Write?'))).toBe(false);
    expect(await answer([key], (person) => person.review('Write?', () => undefined))).toBe(false);
  });

  test('or not: a program of their own has a path, and Claude a login in place of a key', async () => {
    const [down, last] = ['\u001B[B', '\u001B[A\u001B[A'];
    const own = await answer(['\r', '\r', '\r', last, '\r', 'bin/agent', '\r', '\r'], (person) =>
      person.choose(found, ['x']),
    );
    expect(own).toEqual({ ...found, agent: 'acp', agentPath: 'bin/agent' });
    const three = { ...found, shape: 'three-jobs' } as const;
    const login = await answer(['\r', '\r', '\r', '\r', down, down, '\r', '\r'], (person) =>
      person.choose(three, ['x']),
    );
    expect(login).toEqual({ ...three, key: 'aws' });
  });

  test('or not: what CI also runs is added, another agent has one kind of key, and a key shows the diff', async () => {
    const chosen = await answer(['\r', '\r', ' ', '\r', '\u001B[B', '\r', '\r'], (person) =>
      person.choose(found, ['npm run lint', 'npm run types']),
    );
    expect(chosen).toEqual({ ...found, verify: ['npm test', 'npm run lint'], agent: 'codex' });
    let shown = 0;
    const isAgreed = await answer(['d', 'y'], (person) =>
      person.review('Write?', () => {
        shown += 1;
      }),
    );
    expect({ isAgreed, shown }).toEqual({ isAgreed: true, shown: 1 });
    // Enter takes the marked option, which is the first.
    const review = (person: Person): Promise<boolean> => person.review('Write?', () => undefined);
    expect([await answer(['\r'], review), await answer(['n'], review)]).toEqual([true, false]);
  });
});

test.each<[string, readonly string[], string]>([
  ['no terminal', [], 'there is no terminal'],
  ['an invalid kind of key', ['--yes', '--key', 'x'], '--key: expected'],
  ['a program without its path', ['--yes', '--agent', 'acp'], '--agent-path: name the program'],
  ['an expression as path', ['--yes', '--agent', 'acp', '--agent-path', '${{ x }}'], 'GitHub would evaluate'],
  ['a login in one job', ['--yes', '--key', 'aws', '--workflow', 'single'], '--key: a login of each run needs'],
  ['an invalid agent', ['--yes', '--agent', 'x'], '--agent: expected'],
  ['an expression as command', ['--yes', '--verify', '${{ secrets.X }}'], 'GitHub would evaluate'],
])('%s ends with 2', async (_, args, why) => {
  const { code, error } = await init(...args);
  expect({ code, said: error.includes(why) }).toEqual({ code: 2, said: true });
});

test('a folder without git ends with 2', async () => {
  await rm(join(folder, '.git'), { recursive: true });
  expect((await init('--yes')).error).toContain('is not in a git checkout');
});
