import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LookAtGitHub } from '../../../../src/cli/arguments.ts';
import type { TasksReport } from '../../../../src/cli/tasks/read-tasks.ts';
import { runGit } from '../../../integration/git/git-fixture.ts';
import { ralph } from '../fixture.ts';

let folder = '';
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'ralph-tasks-')));
  await runGit(folder, ['init', '-q', '-b', 'main']);
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const PLAN = '# Plan\n\n- [ ] Parser\n\n## Later\n\n- [ ] Colours\n\n## Future\n\n- [ ] Sounds\n';
const WORKFLOW = '.github/workflows/ralph.yml';

async function commit(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  await runGit(folder, ['add', '-A']);
  await runGit(folder, ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '-m', 'x']);
}

function workflow(inputs: string): string {
  return `on: workflow_dispatch\njobs:\n  ralph:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: acme/ralph-action@v1\n        with:\n${inputs.replaceAll(/^/gm, '          ')}\n`;
}

async function report(...args: readonly string[]): Promise<TasksReport> {
  const { code, out, error } = await ralph(['tasks', '--dir', folder, '--json', ...args]);
  expect([code, error]).toEqual([0, '']);
  return JSON.parse(out) as TasksReport;
}

test('sources and sections are those of a .ralphrc, and people read where they stand', async () => {
  const rc = 'TASK_SOURCES=local\nOPTIONAL_SECTIONS="Later"\n';
  await commit({ '.ralphrc': rc, '.ralph/fix_plan.md': PLAN });
  const { tasks, problems } = await report();
  expect(tasks.map(({ title, optional }) => [title, optional])).toEqual([
    ['Parser', false],
    ['Sounds', false],
    ['Colours', true],
  ]);
  expect(problems).toEqual([]);
  expect((await ralph(['tasks', '--dir', folder])).out).toContain(
    'Settings:\n  task-sources: plan,prd (file, .ralphrc:1 TASK_SOURCES)\n  optional-sections: Later (file, .ralphrc:2 OPTIONAL_SECTIONS)\n',
  );
});

test('inputs of the workflow come before the file, and options before both', async () => {
  await commit({
    '.ralphrc': 'TASK_SOURCES=prd\nGITHUB_TASK_LABEL=of-file\n',
    [WORKFLOW]: workflow('task-sources: plan\nverify: make\nanthropic-api-key: x'),
    '.ralph/fix_plan.md': PLAN,
  });
  expect((await report()).tasks).toHaveLength(3);
  expect((await report('--task-sources', 'prd')).tasks).toEqual([]);
});

test.each<[string, readonly string[], string]>([
  ['of the file', [], 'agent'],
  ['of the option', ['--task-label', 'mine'], 'mine'],
])('issues are those with the label %s', async (_, args, label) => {
  await commit({ '.ralphrc': 'GITHUB_TASK_LABEL=agent\n' });
  const asked: string[] = [];
  const look: LookAtGitHub = async (_checkout, see) => ({
    kind: 'seen',
    value: await see({
      repository: 'acme/shop',
      forge: {
        openIssuesWithLabel: (name: string) => {
          asked.push(name);
          return Promise.resolve([]);
        },
      },
    } as unknown as Parameters<typeof see>[0]),
  });
  await ralph(['tasks', '--dir', folder, '--json', ...args], '', undefined, { look });
  expect(asked).toEqual([label]);
});

test('a folder of the checkout has the settings of the workflow that works there', async () => {
  await commit({
    [WORKFLOW]: workflow('task-sources: prd\nverify: make\nanthropic-api-key: x'),
    '.github/workflows/shop.yml': workflow('working-directory: shop\ntask-sources: plan\nverify: make'),
    'shop/.ralphrc': 'OPTIONAL_SECTIONS=Later\n',
    'shop/.ralph/fix_plan.md': PLAN,
  });
  const { out } = await ralph(['tasks', '--dir', join(folder, 'shop'), '--json']);
  expect((JSON.parse(out) as TasksReport).tasks.map(({ optional }) => optional)).toEqual([false, false, true]);
});

test('what cannot be used is named, and its default counts', async () => {
  await commit({
    '.ralphrc': 'OPTIONAL_SECTIONS=$(cat x)\n',
    [WORKFLOW]: workflow('task-sources: ${{ vars.SOURCES }}\nverify: make\nanthropic-api-key: x'),
    '.ralph/fix_plan.md': PLAN,
  });
  const { tasks, problems } = await report();
  expect(tasks).toHaveLength(3);
  expect(problems.map(({ file, message }) => [file, message])).toEqual([
    ['settings', expect.stringMatching(/^\.ralphrc:1: /) as string],
    [
      'settings',
      `${WORKFLOW}: \`task-sources\` is an expression, whose value only a run knows; its default is used here.`,
    ],
    ['issues', expect.any(String) as string],
  ]);
});
