import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { OpenPlaces } from '../../../src/cli/lane/read-lane.ts';
import { runGit } from '../git/git-fixture.ts';
import { ralph } from '../../unit/cli/fixture.ts';
import { packed, placeWithRuns, scripts, stuck } from '../../unit/cli/inspect/tune-fixture.ts';
import { progress } from '../../unit/core/core-fixtures.ts';

const PATH = '.github/workflows/ralph.yml';

let folder = '';
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'ralph-tune-')));
  await runGit(folder, ['init', '-q', '-b', 'main']);
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function commit(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  await runGit(folder, ['add', '-A']);
  await runGit(folder, ['-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-qm', 'files']);
}

/** Runs the command in the folder, with its remembered runs. */
async function tune(
  args: readonly string[],
  journals: readonly string[] = scripts.map(packed),
): ReturnType<typeof ralph> {
  const places = [(await placeWithRuns(journals)).at];
  const open: OpenPlaces = () => Promise.resolve({ kind: 'open', folder, places, person: 'octocat' });
  return ralph(['tune', ...args], '', open);
}

const workflow = async (path = PATH): Promise<string> => readFile(join(folder, path), 'utf8');

/** Returns the lines that an edit removed (`-`) and added (`+`). */
function changedLines(before: string, after: string): readonly string[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `-${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+${line}`),
  ];
}

const step = (inputs: string): string =>
  `on: push # why\njobs:\n  build:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v7\n      # Ralph works here.\n      - uses: acme/ralph-action@v1 # pinned below\n${inputs}`;

describe('--write', () => {
  test.each(['three-jobs', 'single'])(
    'changes the workflow %s that init writes, and shows the change',
    async (form) => {
      await commit({ 'package.json': '{"scripts":{"test":"node --test"}}\n' });
      const init = await ralph([
        'init',
        '--yes',
        '--dir',
        folder,
        '--workflow',
        form,
        '--action',
        'acme/ralph-action@v1',
      ]);
      expect(init.code).toBe(0);
      await commit({});
      const before = await workflow();
      const { code, out, error } = await tune(['circuit-no-progress=2', 'max-iterations-per-task=4', '--write']);
      expect({ code, error }).toEqual({ code: 0, error: '' });
      const indent = form === 'single' ? '          ' : '      ';
      expect(changedLines(before, await workflow())).toEqual([
        `+${indent}circuit-no-progress: 2`,
        `+${indent}settings: |`,
        `+${indent}  max-iterations-per-task: 4`,
      ]);
      expect(out).toContain(`--- a/${PATH}\n+++ b/${PATH}\n@@ `);
      expect(out).toContain(`\n+${indent}circuit-no-progress: 2\n`);
      // Once more, now that they are there.
      await commit({});
      const again = await tune(['circuit-no-progress=1', 'max-iterations-per-task=5', '--write']);
      expect(again.code).toBe(0);
      expect(changedLines(before, await workflow())).toEqual([
        `+${indent}circuit-no-progress: 1`,
        `+${indent}settings: |`,
        `+${indent}  max-iterations-per-task: 5`,
      ]);
    },
  );

  test.each<[string, string, string, readonly string[]]>([
    [
      'a value with a comment and quotes of its own',
      step("        with:\n          circuit-no-progress: '3' # patience\n          verify: make\n"),
      'circuit-no-progress=2',
      ["-          circuit-no-progress: '3' # patience", '+          circuit-no-progress: 2 # patience'],
    ],
    [
      'a block of settings, with an input in it',
      step(
        '        with:\n          settings: |\n            # ours\n            circuit-no-progress: 3 # patience\n\n',
      ),
      'circuit-no-progress=2',
      ['-            circuit-no-progress: 3 # patience', '+            circuit-no-progress: 2 # patience'],
    ],
    [
      'a step without inputs',
      step('        id: ralph\n'),
      'max-minutes=30',
      ['+        with:', '+          max-minutes: 30'],
    ],
    [
      'a step whose inputs are comments',
      step('        with:\n          # verify: make\n        id: ralph\n'),
      'max-cost-usd=2.5',
      ['+          max-cost-usd: 2.5'],
    ],
    [
      'inputs that end with a block of commands',
      step('        with:\n          verify: |\n            make\n            make test\n'),
      'max-iterations=4',
      ['+          max-iterations: 4'],
    ],
    [
      'lines that end as on Windows',
      step('        with:\n          verify: make\n').replaceAll('\n', '\r\n'),
      'max-iterations=4',
      ['+          max-iterations: 4\r'],
    ],
    [
      'lines that end as on Windows, with a new block',
      step('        with:\n          verify: make\n').replaceAll('\n', '\r\n'),
      'max-tokens-per-hour=7',
      ['+          settings: |\r', '+            max-tokens-per-hour: 7\r'],
    ],
    [
      'a file without a last line end',
      step('        with:\n          verify: make'),
      'max-iterations=4',
      ['+          max-iterations: 4'],
    ],
  ])('keeps everything else of %s', async (_, before, value, lines) => {
    await commit({ [PATH]: before });
    const { code, error } = await tune([value, '--write']);
    expect({ code, error }).toEqual({ code: 0, error: '' });
    expect(changedLines(before, await workflow()).filter((line) => line !== '+')).toEqual(lines);
  });

  test.each<[string, string]>([
    ['inputs in braces', step('        with: { verify: make }\n')],
    ['an expression', step('        with:\n          max-iterations: ${{ vars.N }}\n')],
    ['settings in quotes', step("        with:\n          verify: make\n          settings: 'max-iterations: 9'\n")],
    ['inputs from elsewhere', step('        with: *inputs\n').replace('on: push', 'x: &inputs {}\non: push')],
    [
      'an anchor, whose other places would change as well',
      step('        with:\n          max-iterations: &n 9\n          max-tasks-per-pr: *n\n'),
    ],
  ])('changes nothing, and reports it: %s', async (_, before) => {
    await commit({ [PATH]: before });
    const { code, error } = await tune(['max-iterations=4', '--write']);
    expect({ code, error }).toEqual({
      code: 1,
      error: `ralph tune: ${PATH} is written in a form that only a person can change: set the values by hand.\n`,
    });
    expect(await workflow()).toBe(before);
  });

  test('does not touch what is not committed', async () => {
    await commit({ [PATH]: step('        with:\n          verify: make\n') });
    const mine = step('        with:\n          verify: make test\n');
    await writeFile(join(folder, PATH), mine);
    const { code, error } = await tune(['max-iterations=4', '--write']);
    expect({ code, error }).toEqual({
      code: 1,
      error: `ralph tune: ${PATH} has changes that are not committed: commit them first.\n`,
    });
    expect(await workflow()).toBe(mine);
  });

  test('asks which of several workflows is meant, and needs one', async () => {
    const { error: none } = await tune(['max-iterations=4', '--write']);
    expect(none).toBe('ralph tune: No workflow uses the action.\n');
    const other = '.github/workflows/web.yml';
    const text = step('        with:\n          verify: make\n');
    await commit({ [PATH]: text, [other]: text });
    const { code, error } = await tune(['max-iterations=4', '--write']);
    expect({ code, error }).toEqual({
      code: 1,
      error: `ralph tune: Several workflows use the action: name one of ${PATH}, ${other} with --workflow.\n`,
    });
    expect((await tune(['max-iterations=4', '--write', '--workflow', other])).code).toBe(0);
    expect(await workflow()).toBe(text);
    expect(await workflow(other)).toContain('          max-iterations: 4\n');
    expect((await tune(['max-iterations=4', '--write', '--workflow', 'no.yml'])).error).toContain(
      `The workflows with the action are ${PATH}, ${other}.`,
    );
  });

  test('does not choose one of several steps', async () => {
    const before = step('        with:\n          verify: make\n      - uses: acme/ralph-action@v1\n');
    await commit({ [PATH]: before });
    const { code, error } = await tune(['max-iterations=4', '--write']);
    expect({ code, error }).toEqual({
      code: 1,
      error: `ralph tune: ${PATH} uses the action in several places: set the values by hand.\n`,
    });
    expect(await workflow()).toBe(before);
  });

  test('without named values writes what saved money and lost nothing', async () => {
    const before = step('        with:\n          verify: make\n');
    await commit({ [PATH]: before });
    const { out } = await tune(['--write']);
    expect(out).toContain('Recommended: max-iterations-per-task: 3.\n');
    expect(changedLines(before, await workflow())).toEqual([
      '+          settings: |',
      '+            max-iterations-per-task: 3',
    ]);
  });

  test('without a recommendation writes nothing', async () => {
    const before = step('        with:\n          verify: make\n');
    await commit({ [PATH]: before });
    const { code, out } = await tune(['--write'], [packed([progress(), stuck, stuck, stuck])]);
    expect({ code, end: out.endsWith('Recommended: nothing.\nNothing was changed.\n') }).toEqual({
      code: 0,
      end: true,
    });
    expect(await workflow()).toBe(before);
  });

  test('with --json names the file that was written', async () => {
    await commit({ [PATH]: step('        with:\n          verify: make\n') });
    const { out } = await tune(['max-iterations=4', '--write', '--json']);
    expect(JSON.parse(out)).toMatchObject({ written: PATH, recommended: {} });
    expect(await workflow()).toContain('max-iterations: 4\n');
  });
});
