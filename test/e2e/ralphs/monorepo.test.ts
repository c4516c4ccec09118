import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { git } from '../../../testbed/git.ts';
import { tryRepository } from '../../../testbed/own-repository/try.ts';
import { ACTION_FOLDER, TESTBED_KEY } from '../../../testbed/testbed.ts';
import { createScene, LEVEL, type Run, type Scene } from '../e2e-fixture.ts';
import { noOwnMachine } from '../../own-machine.ts';
import { deepTest, rows } from '../../runs.ts';
import { runSplit } from '../split-fixture.ts';

// The run is for one folder of a repository: the agent works there, and sees the whole checkout.

const FOLDER = 'packages/shop';
const INPUTS = { 'working-directory': FOLDER, verify: 'test -f package.json' };
const WORKFLOW = `
name: Ralph
on:
  schedule:
    - cron: '17 * * * *'
permissions: { contents: write, issues: write, pull-requests: write }
jobs:
  ralph:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
        with: { fetch-depth: 0 }
      - uses: acme/ralph-action@v1
        with:
          anthropic-api-key: \${{ secrets.ANTHROPIC_API_KEY }}
          working-directory: ${FOLDER}
`;
const FILES: Readonly<Record<string, string>> = {
  'README.md': 'Two packages\n',
  '.ralph/fix_plan.md': '- [ ] Of the root\n',
  '.github/workflows/ralph.yml': WORKFLOW,
  [`${FOLDER}/package.json`]: '{"name":"shop","type":"module"}\n',
  [`${FOLDER}/.ralph/fix_plan.md`]: '- [ ] Add a cart\n',
};

let folder = '';
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'ralph-monorepo-')));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** Creates a repository with two packages, each of which has tasks. */
async function layMonorepo(repository: string): Promise<void> {
  for (const [path, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(repository, path)), { recursive: true });
    await writeFile(join(repository, path), text);
  }
  await git(repository, ['init', '--quiet', '--initial-branch=main']);
  await git(repository, ['add', '--all']);
  await git(repository, ['commit', '--quiet', '--message', 'Start']);
}

function onGitHub(level = LEVEL): Promise<Scene> {
  return createScene({
    level,
    fill: async (remote) => {
      const seed = await mkdtemp(join(dirname(remote.repositoryFolder), 'seed-'));
      await layMonorepo(seed);
      await remote.importFrom(seed);
      await rm(seed, { recursive: true, force: true });
    },
  });
}

/** Expects the scripted agent's two visits of the only task, and nothing in the root. */
async function expectWorkIn(repository: string): Promise<void> {
  const changed = (await git(repository, ['diff', '--name-only', 'main', 'ralph/queue'])).split('\n');
  expect(changed).toEqual([
    `${FOLDER}/.ralph/fix_plan.md`,
    expect.stringMatching(new RegExp(`^${FOLDER}/src/plan-.*\\.mjs$`)),
    expect.stringMatching(new RegExp(`^${FOLDER}/test/plan-.*\\.mjs$`)),
  ]);
  expect(await git(repository, ['show', `ralph/queue:${FOLDER}/.ralph/fix_plan.md`])).toBe('- [x] Add a cart');
}

// One of the jobs runs in an agent's sandbox below.
test.each<{ name: string; run: (scene: Scene) => Promise<Pick<Run, 'outputs'> | null> }>(
  rows<{ name: string; run: (scene: Scene) => Promise<Pick<Run, 'outputs'> | null> }>(1, [
    { name: 'three jobs', run: async (scene) => (await runSplit(scene, { inputs: INPUTS })).publish },
    { name: 'one job', run: (scene) => scene.run({ inputs: INPUTS }) },
  ]),
)('$name: the tasks of the folder are worked on there', async ({ run }) => {
  await using scene = await onGitHub();
  const ended = await run(scene);
  expect(ended).toMatchObject({ outputs: { outcome: 'complete', iterations: '2' } });
  await expectWorkIn(scene.testbed.remote.repositoryFolder);
  expect(scene.pullOf('ralph/queue').body).toContain(`${FOLDER}/.ralph/fix_plan.md:1`);
});

test.skipIf(noOwnMachine !== null).each(rows(1, ['namespace', 'user']))(
  'in a sandbox (%s) the agent and verify work in the folder as well, and the agent may edit beside it',
  async (level) => {
    await using scene = await onGitHub(level);
    const { outputs, summary, main } = await scene.run({
      inputs: { ...INPUTS, 'max-iterations': '1' },
      agent: [
        { kind: 'shell', script: 'pwd > where.txt && mkdir -p ../lib && echo 1 > ../lib/shared.txt', status: null },
      ],
    });
    expect(outputs['outcome'], main.log).toBe('limit');
    expect(summary).toContain(`Isolation: ${level} — own user`);
    const branch = async (path: string): Promise<string> => scene.testbed.git('show', `ralph/queue:${path}`);
    expect(await branch(`${FOLDER}/where.txt`)).toMatch(new RegExp(`/${FOLDER}$`));
    expect(await branch('packages/lib/shared.txt')).toBe('1');
    expect(main.log).toContain('verify passed: test -f package.json');
  },
);

test("ralph run: the same on a person's own machine", async () => {
  const checkout = join(folder, 'checkout');
  await mkdir(join(folder, 'home'));
  await layMonorepo(checkout);
  const { code, out } = await new Promise<{ code: number; out: string }>((resolve) => {
    const env = {
      PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
      ...{ HOME: join(folder, 'home'), TMPDIR: tmpdir(), GIT_CONFIG_GLOBAL: '/dev/null' },
      ANTHROPIC_API_KEY: TESTBED_KEY,
    };
    const program = [join(ACTION_FOLDER, 'dist/cli/index.js'), 'run', '--isolation', 'none'];
    const agent = ['--agent-path', join(inject('programs'), 'scripted-agent.mjs')];
    const inputs = Object.entries(INPUTS).flatMap(([name, value]) => ['--input', `${name}=${value}`]);
    execFile(process.execPath, [...program, ...agent, ...inputs], { cwd: checkout, env }, (error, printed, said) => {
      resolve({ code: error === null ? 0 : Number(error.code), out: `${printed}${said}` });
    });
  });
  expect(code, out).toBe(0);
  expect(out).toContain('1 of 1 task done');
  await expectWorkIn(checkout);
  expect(await git(checkout, ['status', '--porcelain'])).toBe('');
});

// Also tested by workflows/samples.
deepTest("the sandbox plays a person's own monorepo", async () => {
  await layMonorepo(folder);
  const standIn = {
    inputs: { 'agent-path': join(inject('programs'), 'scripted-agent.mjs'), 'agent-env': 'RALPH_PAUSE_MS' },
    env: { RALPH_PAUSE_MS: '0', NODE_COMPILE_CACHE: join(inject('programs'), 'compiled') },
  };
  const [scheduled] = await tryRepository({
    ...{ folder, commands: 'run', out: null, standIn, print: () => undefined },
  });
  expect(scheduled).toMatchObject({ end: 'good' });
  expect(scheduled?.says).toMatch(/^complete .*: 4 iterations/);
});
