import { describe, expect, test } from 'vitest';
import type { Issue } from '../../../src/ports/forge.ts';
import { addIssue, createProject, gateOnce, type GateRun, storedBudget, storedRecord } from '../stage/run-action.ts';
import type { Project } from '../stage/project.ts';
import { open, type Tap } from '../stage/tap.ts';

const FILES = ['a', 'b', 'c', 'd', 'e'];

/** Creates a project whose issue N names the N-th file of the list, unless `change` says otherwise. */
function shop(
  inputs: Readonly<Record<string, string>> = {},
  change: (number: number) => Partial<Issue> = () => ({}),
  count = 3,
): Project {
  const files = Object.fromEntries(
    Array.from({ length: Math.max(count, FILES.length) }, (_, at) => [`src/${FILES[at] ?? `f${String(at)}`}.ts`, '']),
  );
  const project = createProject({ issues: [], files, inputs: { parallel: '3', 'max-open-prs': '0', ...inputs } });
  for (let number = 1; number <= count; number += 1) {
    const name = FILES[number - 1] ?? `f${String(number - 1)}`;
    addIssue(project.forge, number, { body: `Change src/${name}.ts`, ...change(number) });
  }
  return project;
}

/** Returns each lane with its tasks, the first lane first. */
function lanesOf({ intake, beside }: GateRun): readonly (readonly [string, readonly string[]])[] {
  return [intake, ...beside.map((one) => one.intake)].flatMap((one) =>
    one.kind === 'work' ? [[one.lane.id, one.tasks.map(({ id }) => id)] as const] : [],
  );
}

const lanesHeld = (project: Project): readonly string[] =>
  ['queue', ...Array.from({ length: 25 }, (_, at) => `issue-${String(at + 1)}`)].filter(
    (lane) => storedRecord(project, lane).lease !== null,
  );

describe('a run of the queue works side by side', () => {
  test('on issues whose files are known and differ: the first on the queue, each other one on its own branch', async () => {
    const project = shop();
    const run = await gateOnce(project);
    expect(lanesOf(run)).toEqual([
      ['queue', ['issue-1']],
      ['issue-2', ['issue-2']],
      ['issue-3', ['issue-3']],
    ]);
    expect(run.runTag).toBe('run-1:queue');
    expect(run.beside.map(({ runTag, intake }) => [runTag, intake.lane.branch, intake.lane.start.kind])).toEqual([
      ['run-1:issue-2', 'ralph/issue-2', 'fresh'],
      ['run-1:issue-3', 'ralph/issue-3', 'fresh'],
    ]);
    expect(run.claims).toEqual([
      { lane: 'queue', runTag: 'run-1:queue' },
      { lane: 'issue-2', runTag: 'run-1:issue-2' },
      { lane: 'issue-3', runTag: 'run-1:issue-3' },
    ]);
    expect(storedRecord(project, 'issue-3').lease?.runTag).toBe('run-1:issue-3');
    expect(run.log.join('\n')).toContain(
      'Works on 3 branches at once, with the files that each probably touches: the queue (src/a.ts), issue #2 (src/b.ts), issue #3 (src/c.ts).',
    );
  });

  test('with what the run may use divided among them, and no task reserved twice', async () => {
    const project = shop({ 'max-iterations': '8', 'max-cost-usd': '6', 'max-calls-per-hour': '100' });
    const run = await gateOnce(project);
    const { reservations } = storedBudget(project);
    expect(reservations.map(({ runTag, tasks, calls, costUsd }) => [runTag, tasks, calls, costUsd])).toEqual([
      ['run-1:issue-3', ['issue-3'], 2, 2],
      ['run-1:issue-2', ['issue-2'], 3, 2],
      ['run-1:queue', ['issue-1'], 3, 2],
    ]);
    const policies = [run.intake, ...run.beside.map(({ intake }) => intake)].flatMap((one) =>
      one.kind === 'work' ? [[one.policy.maxIterations, one.policy.maxCostUsd]] : [],
    );
    expect(policies).toEqual([
      [3, 2],
      [3, 2],
      [2, 2],
    ]);
  });

  test('claimed with one write of the state', async () => {
    const writes: string[] = [];
    const tap: Tap = {
      ...open,
      call: (name, act) => (name === 'refs.write' && writes.push(name), open.call(name, act)),
    };
    await gateOnce(shop(), { tap });
    expect(writes).toHaveLength(1);
  });

  test('and what touches the files of another branch waits for a later run, with the reason', async () => {
    const run = await gateOnce(shop({ parallel: '2' }, (number) => (number === 3 ? { body: 'See `src/b.ts`' } : {})));
    expect(lanesOf(run)).toEqual([
      ['queue', ['issue-1']],
      ['issue-2', ['issue-2']],
    ]);
    expect(run.intake.notes.warnings).toEqual([
      'Issue #3 waits for a later run: it probably touches src/b.ts, on which issue #2 is being worked on.',
    ]);
  });

  test('while a task whose files are unknown waits', async () => {
    const run = await gateOnce(shop({}, (number) => (number === 2 ? { body: 'Make it better' } : {})));
    expect(lanesOf(run).map(([lane]) => lane)).toEqual(['queue', 'issue-3']);
    expect(run.intake.notes.warnings).toEqual([
      'Issue #2 waits for a later run: issue #3 is being worked on, and the files of one of them are unknown.',
    ]);
  });

  test('while those that touch the same files as the first stay with it', async () => {
    const run = await gateOnce(shop({}, (number) => (number === 2 ? { body: 'Rename src/a.ts' } : {})));
    expect(lanesOf(run)).toEqual([
      ['queue', ['issue-1', 'issue-2']],
      ['issue-3', ['issue-3']],
    ]);
  });

  test('with the files that define what the text of a task names', async () => {
    const project = createProject({
      issues: [],
      files: { 'src/a.ts': '', 'src/cart.ts': 'function totalOf(cart) {}' },
      inputs: { parallel: '3', 'max-open-prs': '0' },
    });
    addIssue(project.forge, 1, { body: 'Change src/a.ts' });
    addIssue(project.forge, 2, { body: 'totalOf is wrong' });
    expect((await gateOnce(project)).log.join()).toContain('issue #2 (src/cart.ts)');
  });

  test('while a task with a dependency waits for it on the queue', async () => {
    const run = await gateOnce(shop({}, (number) => (number === 3 ? { body: 'Depends on #2. Change src/c.ts' } : {})));
    expect(lanesOf(run)).toEqual([
      ['queue', ['issue-1', 'issue-3']],
      ['issue-2', ['issue-2']],
    ]);
  });

  test('on up to 20 branches, with at most 15 requests more than on one', async () => {
    const counts: number[] = [];
    for (const parallel of ['1', '20']) {
      let count = 0;
      const tap: Tap = {
        ...open,
        call: (name, act) => {
          count += /^(?:forge|remote|refs|cache)\./.test(name) || name === 'repository.openLane' ? 1 : 0;
          return open.call(name, act);
        },
      };
      const run = await gateOnce(
        shop({ parallel, 'max-iterations': '40', 'max-cost-usd': '0' }, () => ({}), 25),
        { tap },
      );
      expect(run.beside).toHaveLength(Number(parallel) - 1);
      counts.push(count);
    }
    expect((counts[1] ?? 0) - (counts[0] ?? 0)).toBeLessThanOrEqual(15);
  });
});

describe('a run of the queue works on one branch', () => {
  const same = (): Partial<Issue> => ({});
  const limitLine = 'The limits of this run are enough for 1 of 3 branches.';

  test.each<[string, Readonly<Record<string, string>>, (number: number) => Partial<Issue>, string | null]>([
    ['without the setting', { parallel: '1' }, same, null],
    [
      'if nobody knows which files the first task touches',
      {},
      (number) => (number === 1 ? { body: 'Better' } : {}),
      'One branch in this run: the files that the next tasks of the queue touch are unknown.',
    ],
    [
      'if all tasks touch the same file',
      {},
      () => ({ body: 'Change src/a.ts' }),
      'One branch in this run: the other tasks touch the same files or unknown ones',
    ],
    ['if its iterations are enough for one only', { 'max-iterations': '1' }, same, 'or a limit allows no more'],
    ['if its calls are enough for one only', { 'max-calls-per-hour': '1' }, same, limitLine],
    ['if its money is enough for one only', { 'max-cost-usd': '0.6' }, same, limitLine],
    ['if people take no more pull requests', { 'max-open-prs': '1' }, same, 'or a limit allows no more'],
  ])('%s', async (_, inputs, change, line) => {
    const project = shop(inputs, change);
    const run = await gateOnce(project);
    expect(lanesOf(run)).toEqual([['queue', ['issue-1', 'issue-2', 'issue-3']]]);
    expect(run.runTag).toMatch(/^run-1(:queue)?$/);
    expect(lanesHeld(project)).toEqual(['queue']);
    expect(storedBudget(project).reservations.map(({ runTag }) => runTag)).toEqual([run.runTag]);
    const said = run.log.filter((one) => /branch/.test(one));
    expect(said).toEqual(line === null ? [] : [expect.stringContaining(line)]);
  });
});
