import { describe, expect, test } from 'vitest';
import { UsageError, type Terminal } from '../../../src/cli/command.ts';
import {
  type AskedRun,
  createRunCommand,
  type EndedLane,
  runSchema,
  combineLanes,
  renderLanes,
} from '../../../src/cli/run/run.ts';
import { outcomeKinds, outcomeKindsByTrouble } from '../../../src/core/outcome.ts';
import { publishedSchema } from '../../published-schema.ts';

const terminal: Terminal = {
  stdin: (async function* () {})(),
  out: () => undefined,
  error: () => undefined,
  now: () => 0,
};

/** Returns the requested run, or the problems of its arguments. */
async function askedBy(...args: readonly string[]): Promise<AskedRun | readonly string[]> {
  const asked: AskedRun[] = [];
  const ended = {
    branches: [],
    ...{ outcome: 'idle', reason: '', iterations: 0, tasksDone: 0, tasks: 0, branch: null },
    head: null,
  };
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
  await expect(`${JSON.stringify(publishedSchema('ralph run --json', runSchema), null, 2)}\n`).toMatchFileSnapshot(
    '../../../schemas/ralph-run.schema.json',
  );
});

test.each<[string, readonly string[], Partial<AskedRun>]>([
  ['nothing: all tasks of this folder', [], { folder: '.', inputs: {}, task: null, dryRun: false, push: false }],
  ['--once', ['--once'], { inputs: { 'max-iterations': '1' } }],
  ['inputs by name', ['--input', 'verify=a=b', '--model', 'm'], { inputs: { verify: 'a=b', model: 'm' } }],
  ['several branches at once', ['--parallel', '3'], { inputs: { parallel: '3' } }],
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
  [['--task', 'US-1', '--parallel', '2'], /works on one branch/],
  [['--dry-run', '--push'], /pushes nothing/],
  [['--maxiterations', '3'], /no option/],
])('%j makes no sense', async (args, problem) => {
  expect(await askedBy(...args)).toContainEqual(expect.stringMatching(problem));
});

describe('the end of a run on several branches', () => {
  const lane: EndedLane = {
    ...{ outcome: 'complete', reason: 'plan_complete', iterations: 2, tasksDone: 1, tasks: 1, head: 'a'.repeat(40) },
    ...{ branch: 'ralph/queue', costUsd: 0.5, tokens: 100, resumeAt: null, pushed: true },
  };
  const failed: EndedLane = {
    ...{ ...lane, branch: 'ralph/issue-7', outcome: 'failed', reason: 'infrastructure', tasksDone: 0, costUsd: 0.25 },
    ...{ resumeAt: '2026-11-21T13:00:00.000Z', pushed: false },
  };

  test('is the worst outcome and the sums, with the branches in that order', () => {
    const ended = combineLanes([lane, { ...lane, resumeAt: '2026-11-21T14:00:00.000Z', pushed: null }, failed]);
    expect(ended).toMatchObject({
      ...{ outcome: 'failed', reason: 'infrastructure', iterations: 6, tasksDone: 2, tasks: 3, costUsd: 1.25 },
      ...{ branch: null, head: null, tokens: 300, resumeAt: '2026-11-21T13:00:00.000Z', pushed: false },
    });
    expect(ended.branches.map(({ branch }) => branch)).toEqual(['ralph/issue-7', 'ralph/queue', 'ralph/queue']);
    expect(runSchema.parse(ended)).toEqual(ended);
    expect(renderLanes(ended).split('\n')[0]).toBe(
      'ralph/issue-7: failed (infrastructure) · 2 iterations · 0 of 1 task done · $0.25',
    );
  });

  test('has an unknown cost if that of one branch is unknown', () => {
    const ended = combineLanes([lane, { ...failed, costUsd: null, pushed: null }]);
    expect(ended).toMatchObject({ costUsd: null, pushed: true });
    expect(renderLanes(ended)).toContain('cost not known');
  });

  test('is that of the branch if there is only one', () => {
    expect(combineLanes([lane])).toEqual({ ...lane, branches: [lane] });
  });

  test('every outcome has a rank', () => {
    expect([...outcomeKindsByTrouble].sort()).toEqual([...outcomeKinds].sort());
  });
});
