import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { UsageError, type Terminal } from '../../../src/cli/command.ts';
import { type AskedRun, createRunCommand, runJsonSchema } from '../../../src/cli/run/run.ts';

const terminal: Terminal = {
  stdin: (async function* () {})(),
  out: () => undefined,
  error: () => undefined,
  now: () => 0,
};

/** Returns the requested run, or the problems of its arguments. */
async function askedBy(...args: readonly string[]): Promise<AskedRun | readonly string[]> {
  const asked: AskedRun[] = [];
  const ended = { ...{ outcome: 'idle', reason: '', iterations: 0, tasksDone: 0, tasks: 0, branch: null }, head: null };
  const command = createRunCommand((given) => {
    asked.push(given);
    return Promise.resolve({ ended: { ...ended, costUsd: 0, tokens: 0, resumeAt: null, pushed: null }, failed: false });
  });
  try {
    await command.run(args, terminal);
  } catch (error) {
    if (error instanceof UsageError) return error.problems;
    throw error;
  }
  const [first] = asked;
  if (first === undefined) throw new Error('nothing was asked for');
  return first;
}

test('the published schema is the one in the code', async () => {
  const published = await readFile(new URL('../../../schemas/ralph-run.schema.json', import.meta.url), 'utf8');
  expect(JSON.parse(published)).toEqual(runJsonSchema());
});

test.each<[string, readonly string[], Partial<AskedRun>]>([
  ['nothing: all tasks of this folder', [], { folder: '.', inputs: {}, task: null, dryRun: false, push: false }],
  ['--once', ['--once'], { inputs: { 'max-iterations': '1' } }],
  ['inputs by name', ['--input', 'verify=a=b', '--model', 'm'], { inputs: { verify: 'a=b', model: 'm' } }],
  ['a task by its id', ['--task', 'plan-2b811320dcd2'], { task: 'plan-2b811320dcd2' }],
  ['a task by its name', ['--task', '.ralph/fix_plan.md:4'], { task: '.ralph/fix_plan.md:4' }],
])('%s', async (_title, args, expected) => {
  expect(await askedBy(...args)).toMatchObject(expected);
});

test.each<[readonly string[], RegExp]>([
  [['--once', '--max-iterations', '3'], /contradict each other/],
  [['--input', 'verify'], /expected NAME=VALUE/],
  [['--input', 'phase=loop'], /does not apply to local runs/],
  [['--input', 'anthropic-api-key=k'], /does not apply to local runs/],
  [['--input', 'model=a', '--model', 'b'], /as --input as well/],
  [['--on-limit', 'sleep'], /must be one of park, wait/],
  [['--task', ' '], /not the name of a task/],
  [['--task', 'x'.repeat(301)], /not the name of a task/],
  [['--dry-run', '--push'], /pushes nothing/],
  [['--maxiterations', '3'], /no option/],
])('%j makes no sense', async (args, problem) => {
  expect(await askedBy(...args)).toContainEqual(expect.stringMatching(problem));
});
