import { describe, expect, test } from 'vitest';
import { untouchedProgress } from '../../src/core/tasks/queue.ts';
import type { Dependency, Issue } from '../../src/ports/forge.ts';
import { UserError } from '../../src/errors.ts';
import { finisher, steadyWorker, type Behaviour } from './stage/behaviours.ts';
import { addCommit, type Checkout, type Files } from './stage/in-memory.ts';
import type { Project } from './stage/project.ts';
import {
  addIssue,
  changeState,
  commented,
  createProject,
  labeled,
  runOnce,
  savedState,
  type Run,
  warningsIn,
} from './stage/run-action.ts';

const PLAN = '.ralph/fix_plan.md';
const workedOn = (run: Run) => run.work?.journal.map(({ taskTitle }) => taskTitle);
const warned = (run: Run) => warningsIn(run).join('\n');
const unmarkedIn = (project: Project): readonly string[] =>
  Object.entries(savedState(project).tasks).flatMap(([id, { unmarked }]) => (unmarked ? [id] : []));
const titles = (run: Run) => run.work?.tasks.map(({ title }) => title);
const messageOf = ({ outcome }: Run): string => (outcome.kind === 'failed' ? outcome.message : '');

/** Creates a project whose base has these files. */
function projectWith(files: Files, setting: Parameters<typeof createProject>[0] = {}): Project {
  const project = createProject({ issues: [], ...setting });
  commitTo(project, 'main', files);
  return project;
}

function commitTo({ origin }: Project, branch: string, change: Readonly<Record<string, string | null>>): void {
  const parent = origin.branches.get(branch) ?? null;
  const before = parent === null ? {} : (origin.commits.get(parent)?.tree ?? {});
  const tree = Object.fromEntries(
    Object.entries({ ...before, ...change }).filter((entry): entry is [string, string] => entry[1] !== null),
  );
  origin.branches.set(branch, addCommit(origin, { tree, parent, message: 'By hand' }));
}

/** Ticks the boxes one after another, each with a change of the code; finishes issues. */
function ticker(): Behaviour {
  let plan = '';
  return ({ task, turn }) => {
    if (task.startsWith('issue-'))
      return {
        writes: { [`src/${task}.ts`]: `done ${String(turn)}` },
        output: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } },
      };
    plan = (plan === '' ? '# Plan\n\n- [ ] Cart\n- [ ] Checkout\n' : plan).replace('[ ]', '[x]');
    return {
      writes: { [PLAN]: plan, [`src/step-${String(turn)}.ts`]: 'done' },
      output: { signal: { status: 'IN_PROGRESS', exitSignal: false, tasksCompleted: 1 } },
    };
  };
}

describe('the queue merges its sources', () => {
  const files = {
    [PLAN]: '# Plan\n\n## High\n\n- [ ] Cart\n\n## Low\n\n- [ ] Colours\n',
    '.ralph/prd.json': JSON.stringify({
      tasks: [
        { id: 'T1', title: 'Login', status: 'todo', priority: 'high' },
        { id: 'T2', title: 'Logout', status: 'todo', priority: 'low' },
      ],
    }),
  };

  test.each<[string, readonly string[]]>([
    ['issues,plan,prd', ['Title 1', 'Cart', 'Login', 'Title 2', 'Colours', 'Logout']],
    ['prd,plan,issues', ['Login', 'Cart', 'Title 1', 'Title 2', 'Logout', 'Colours']],
    ['plan', ['Cart', 'Colours']],
    ['issues', ['Title 1', 'Title 2']],
  ])('by priority, then in the order of task-sources: %s', async (sources, expected) => {
    const project = projectWith(files, {
      agent: [finisher],
      inputs: { 'task-sources': sources, 'max-iterations': '1' },
    });
    addIssue(project.forge, 1, { labels: ['ralph', 'P0'] });
    addIssue(project.forge, 2);
    expect(titles(await runOnce(project))).toEqual(expected);
  });

  test('an issue on its own lane is worked on without the files', async () => {
    const project = projectWith(files, { agent: [finisher] });
    addIssue(project.forge, 1);
    expect(titles(await runOnce(project, { event: labeled(1) }))).toEqual(['Title 1']);
  });

  test('beads are read if they are named', async () => {
    const project = projectWith(
      {
        '.beads/issues.jsonl': `${JSON.stringify({ id: 'bd-1', title: 'Fix it', status: 'open', priority: 1, issue_type: 'task' })}\n`,
      },
      { agent: [finisher], inputs: { 'max-iterations': '1' } },
    );
    expect((await runOnce(project)).end).toBe('idle (no_tasks)');
    project.inputs = { ...project.inputs, 'task-sources': 'issues,beads' };
    expect(titles(await runOnce(project))).toEqual(['Fix it']);
  });

  test('without task files the run neither reads the disk nor asks GitHub for them', async () => {
    const project = createProject({ issues: [], agent: [finisher] });
    const asked: unknown[] = [];
    await runOnce(project, {
      prepare: (checkout) => {
        const { readTexts } = checkout;
        checkout.readTexts = (paths, lane) => {
          asked.push(lane);
          return readTexts(paths, lane);
        };
      },
    });
    // The reads are for the task files, for another Ralph's files, and for a prompt that is not a configured source;
    // all are local.
    expect(asked).toEqual([null, null, null]);
    // The requests read the issues, the waiting pull requests, and whether the task label exists.
    expect(project.forge.requests().sent).toBe(3);
  });
});

describe('a plan', () => {
  const plan = '# Plan\n\n- [ ] Cart\n- [ ] Checkout\n';

  test('is worked on item by item until every box is ticked', async () => {
    const project = projectWith({ [PLAN]: plan }, { agent: [ticker()] });
    const run = await runOnce(project);
    expect(workedOn(run)).toEqual(['Cart', 'Checkout']);
    expect(run.end).toBe('complete (plan_complete)');
  });

  test('whose boxes are all ticked is complete without a call', async () => {
    const project = projectWith({ [PLAN]: plan.replaceAll('[ ]', '[x]') }, { agent: [ticker()] });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
    expect(project.forge.writes).toEqual([]);
  });

  test('without boxes is not work', async () => {
    expect((await runOnce(projectWith({ [PLAN]: '# Plan\n\nSoon.\n' }))).end).toBe('idle (no_tasks)');
  });

  test('that is done waits in its pull request, and is idle', async () => {
    const project = projectWith({ [PLAN]: plan }, { agent: [ticker()] });
    await runOnce(project);
    const before = [...project.forge.writes];
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
    expect(project.forge.writes).toEqual(before);
  });

  test('that somebody ticked by hand in the base is done there', async () => {
    const project = projectWith({ [PLAN]: plan }, { agent: [ticker()], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    commitTo(project, 'main', { [PLAN]: plan.replace('[ ] Checkout', '[x] Checkout') });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
  });

  test("continues from the lane's copy, with additions to the base since", async () => {
    const project = projectWith({ [PLAN]: plan }, { agent: [ticker()], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    commitTo(project, 'main', { [PLAN]: `${plan}- [ ] Wishlist\n` });
    const run = await runOnce(project);
    expect(workedOn(run)).toEqual(['Checkout']);
    expect(titles(run)).toEqual(['Cart', 'Checkout', 'Wishlist']);
  });

  test('with an item that the agent ticked but that was not accepted still has it open', async () => {
    const project = projectWith({ [PLAN]: plan }, { agent: [ticker()], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    commitTo(project, 'ralph/queue', { [PLAN]: plan.replaceAll('[ ]', '[x]') });
    expect(workedOn(await runOnce(project))).toEqual(['Checkout']);
  });

  test("that the agent deleted or replaced is worked on in the base's version", async () => {
    const project = projectWith({ [PLAN]: plan }, { agent: [ticker()], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    commitTo(project, 'ralph/queue', { [PLAN]: null, '@fix_plan.md': '- [ ] Something else\n' });
    expect(titles(await runOnce(project))).toEqual(['Cart', 'Checkout']);
  });

  test('that is merged and then unticked by a person is worked on again', async () => {
    const project = projectWith({ [PLAN]: plan }, { agent: [ticker()] });
    await runOnce(project);
    const head = project.origin.branches.get('ralph/queue') ?? '';
    project.forge.pulls.splice(
      0,
      1,
      ...project.forge.pulls.map((pull) => ({ ...pull, headSha: head, state: 'merged' as const })),
    );
    project.origin.branches.set('main', head);
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
    commitTo(project, 'main', { [PLAN]: plan.replace('[ ] Checkout', '[x] Checkout') });
    project.script.behaviours = [finisher];
    project.inputs = { 'max-iterations': '1' };
    expect(workedOn(await runOnce(project))).toEqual(['Cart']);
  });

  test('that is gone removes its tasks from the queue, also the current one', async () => {
    const project = projectWith({ [PLAN]: plan }, { agent: [finisher], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    changeState(project, (state) => ({ ...state, currentTask: 'plan-gone' }));
    commitTo(project, 'main', { [PLAN]: null });
    addIssue(project.forge, 1);
    expect(workedOn(await runOnce(project))).toEqual(['Title 1']);
    expect(savedState(project).currentTask).not.toBe('plan-gone');
  });
});

describe("an item that exists on the base but not in the lane's file", () => {
  const plan = '# Plan\n\n- [ ] Cart\n- [ ] Checkout\n';
  const added = `${plan}- [ ] Wishlist\n`;
  const merge = (project: Project, base: string): void => {
    const head = project.origin.branches.get('ralph/queue') ?? '';
    project.forge.pulls.splice(
      0,
      1,
      ...project.forge.pulls.map((pull) => ({ ...pull, headSha: head, state: 'merged' as const })),
    );
    project.origin.branches.set('main', head);
    commitTo(project, 'main', { [PLAN]: base });
  };
  /** The lane has done `Cart` when people add `Wishlist` to the base. */
  const grown = async (): Promise<Project> => {
    const project = projectWith({ [PLAN]: plan }, { agent: [ticker()], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    commitTo(project, 'main', { [PLAN]: added });
    project.inputs = {};
    project.script.behaviours = [
      ({ turn }) => ({
        writes: { [PLAN]: plan.replaceAll('[ ]', '[x]'), [`src/more-${String(turn)}.ts`]: 'x' },
        output: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } },
      }),
    ];
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    return project;
  };

  test('is done by the status block, and its pull request says that nothing marks it', async () => {
    const project = await grown();
    expect(project.script.calls.at(-1)?.prompt).toContain('BEGIN TASK-1\n(.ralph/fix_plan.md)\n\nWishlist');
    expect(project.forge.pulls[0]?.body.match(/It is not marked as done/g)).toHaveLength(1);
  });

  test('stays done when it is merged and still open, and that is reported once', async () => {
    const project = await grown();
    const merged = added.replace('[ ] Cart', '[x] Cart').replace('[ ] Checkout', '[x] Checkout');
    merge(project, merged);
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'idle (all_done)', calls: 0 });
    expect(warned(run)).toBe(
      '"Wishlist" is done and merged, but its box in .ralph/fix_plan.md is still open: tick it, or give it a new title to have it done again.',
    );

    addIssue(project.forge, 1);
    project.script.behaviours = [finisher];
    expect(workedOn(await runOnce(project))).toEqual(['Title 1']);
    expect(unmarkedIn(project)).toHaveLength(1);
    commitTo(project, 'main', { [PLAN]: merged.replace('[ ]', '[x]') });
    addIssue(project.forge, 2);
    await runOnce(project);
    expect(unmarkedIn(project)).toEqual([]);
  });

  test('is worked on again under a new title', async () => {
    const project = await grown();
    merge(project, added.replaceAll('[ ]', '[x]').replace('[x] Wishlist', '[ ] A better wishlist'));
    project.inputs = { 'max-iterations': '1' };
    const run = await runOnce(project);
    expect(workedOn(run)).toEqual(['A better wishlist']);
    expect(warned(run)).not.toContain('is done and merged');
  });
});

describe('a file that cannot be read', () => {
  const broken = { '.ralph/prd.json': '{ "tasks": [\n  { "id": "T1", "title": ' };

  test('as the only source ends the run with its place', async () => {
    const run = await runOnce(projectWith(broken));
    expect(run).toMatchObject({ end: 'failed (configuration)', calls: 0 });
    expect(messageOf(run)).toMatch(/\.ralph\/prd\.json:2:\d+ /);
  });

  test('does not stop the work on other sources', async () => {
    const project = projectWith(
      { ...broken, [PLAN]: '- [ ] Cart\n' },
      { agent: [finisher], inputs: { 'max-iterations': '2' } },
    );
    addIssue(project.forge, 1);
    const run = await runOnce(project);
    expect(workedOn(run)).toEqual(['Title 1', 'Cart']);
    expect(warned(run)).toMatch(/\.ralph\/prd\.json:2:\d+ /);
  });

  test.each<[string, Files, Readonly<Record<string, string>>]>([
    ['a broken one', { ...broken, [PLAN]: '- [ ] Cart\n- [ ] Checkout\n' }, {}],
    [
      'a part of one',
      {
        '.beads/issues.jsonl': `{\n${JSON.stringify({ id: 'b', title: 'Bead', status: 'closed' })}`,
        [PLAN]: '- [ ] Cart\n- [ ] Checkout\n',
      },
      { 'task-sources': 'plan,beads' },
    ],
  ])('keeps the rest from being complete: %s', async (_, files, inputs) => {
    const project = projectWith(files, { agent: [ticker()], inputs });
    const run = await runOnce(project);
    expect(workedOn(run)).toEqual(['Cart', 'Checkout']);
    expect(run.end).toBe('blocked (needs_human)');
    expect(project.forge.pulls[0]?.draft).toBe(true);
    expect(project.forge.pulls[0]?.body).toContain('cannot be read, so what it asks for is not known');
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
    commitTo(project, 'main', { '.ralph/prd.json': null, '.beads/issues.jsonl': null });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
  });

  /** Omits a file, as the checkout omits one that contains NUL bytes. */
  const withoutText =
    (path: string) =>
    (checkout: Checkout): void => {
      const { readTexts } = checkout;
      checkout.readTexts = async (paths, lane) => {
        const {
          base: { [path]: left, ...base },
          ...read
        } = await readTexts(paths, lane);
        return {
          ...read,
          base,
          unread: left === undefined ? {} : { [path]: 'contains NUL bytes, so it is not UTF-8 text' },
        };
      };
    };

  test.each<[string, string, string]>([
    ['a plan', PLAN, 'blocked (needs_human)'],
    ['but not a plan that another one precedes', '@fix_plan.md', 'complete (plan_complete)'],
  ])('keeps the rest from being complete if it is not text: %s', async (_, path, end) => {
    const project = projectWith({ [PLAN]: '', [path]: '\0' }, { agent: [finisher] });
    addIssue(project.forge, 1);
    const run = await runOnce(project, { prepare: withoutText(path) });
    expect([workedOn(run), run.end]).toEqual([['Title 1'], end]);
    expect(warned(run)).toBe(`${path} contains NUL bytes, so it is not UTF-8 text, and none of its tasks are read`);
  });

  test('removes nothing from the list of tasks merged without a mark', async () => {
    const project = projectWith({ [PLAN]: '' }, { agent: [finisher] });
    addIssue(project.forge, 1);
    await runOnce(project);
    changeState(project, (state) => ({
      ...state,
      tasks: {
        ...state.tasks,
        'plan-a': { ...untouchedProgress, state: 'done', attempts: 1, doneCommit: 'c', unmarked: true },
      },
    }));
    for (const [prepare, expected] of [
      [withoutText(PLAN), ['plan-a']],
      [() => undefined, []],
    ] as const) {
      addIssue(project.forge, 2 + project.runs);
      await runOnce(project, { prepare });
      expect(unmarkedIn(project)).toEqual(expected);
    }
  });

  test('which broke after all was done is just as unknown', async () => {
    const project = projectWith({ [PLAN]: '- [ ] Cart\n- [ ] Checkout\n' }, { agent: [ticker()] });
    expect((await runOnce(project)).end).toBe('complete (plan_complete)');
    commitTo(project, 'main', broken);
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
  });

  test("on the lane is reported with its branch, and the base's copy counts", async () => {
    const prd = { '.ralph/prd.json': JSON.stringify({ tasks: [{ id: 'T1', title: 'Login', status: 'todo' }] }) };
    const project = projectWith(prd, { agent: [finisher], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    commitTo(project, 'ralph/queue', broken);
    const run = await runOnce(project);
    expect(titles(run)).toEqual(['Login']);
    expect(warned(run)).toContain('On ralph/queue: .ralph/prd.json:2:');
  });

  test('like all others of a broken checkout: reported once with all other problems, or alone', async () => {
    const unreadable = new UserError('infrastructure', 'There is no checkout.');
    const project = projectWith({ [PLAN]: '- [ ] Cart\n' });
    const prepare = (checkout: Checkout): void => {
      checkout.faults.set('readTexts', unreadable);
      checkout.broken.push('There is no checkout.');
    };
    expect(await runOnce(project, { prepare })).toMatchObject({ end: 'failed (infrastructure)', calls: 0 });
    addIssue(project.forge, 1);
    expect(messageOf(await runOnce(project, { prepare, hasProviderKey: false }))).toMatch(
      /- There is no checkout\.\n- There is no key/,
    );
  });

  test('reports at most twenty problems', async () => {
    const lines = Array.from({ length: 30 }, () => '{ broken').join('\n');
    const message = messageOf(
      await runOnce(projectWith({ '.beads/issues.jsonl': lines }, { inputs: { 'task-sources': 'beads' } })),
    );
    expect(message.split('\n- ').slice(1)).toHaveLength(21);
    expect(message).toContain('… and 10 more problems in task files.');
  });
});

describe('dependencies of issues', () => {
  const queue = (
    issues: Readonly<Record<number, Partial<Issue>>>,
    inputs: Readonly<Record<string, string>> = {},
  ): Project => {
    const project = createProject({ issues: [], agent: [finisher], inputs });
    for (const [number, change] of Object.entries(issues)) addIssue(project.forge, Number(number), change);
    return project;
  };

  test.each<[string, Readonly<Record<number, Partial<Issue>>>, readonly string[], string]>([
    [
      'what it depends on comes first',
      { 1: { body: 'Depends on #2' }, 2: {} },
      ['Title 2', 'Title 1'],
      'complete (plan_complete)',
    ],
    [
      'a closed one is not an obstacle',
      { 1: { body: 'Blocked by #2' }, 2: { state: 'closed' } },
      ['Title 1'],
      'complete (plan_complete)',
    ],
    [
      'one that is open and no task is',
      { 1: { body: 'Depends on #2' }, 2: { labels: [] }, 3: {} },
      ['Title 3'],
      'blocked (needs_human)',
    ],
    [
      'one in another repository is not',
      { 1: { body: 'Depends on other/repo#2' } },
      ['Title 1'],
      'complete (plan_complete)',
    ],
    [
      'a parent waits for its task list',
      { 1: { body: '- [ ] #2\n- [x] #3' }, 2: {}, 3: { state: 'closed' } },
      ['Title 2', 'Title 1'],
      'complete (plan_complete)',
    ],
  ])('%s', async (_, issues, worked, end) => {
    const run = await runOnce(queue(issues));
    expect([workedOn(run), run.end]).toEqual([worked, end]);
  });

  test('in another repository: reported once, since nobody looks there', async () => {
    const address = 'https://github.com/other/repo/issues/3';
    const project = queue({
      1: { body: `Depends on other/repo#2 and ${address}` },
      2: { body: 'Blocked by acme/api#9', blockedBy: 1 },
      3: { body: 'Blocked by other/repo#2' },
    });
    project.forge.dependencies.set(2, [{ number: 9, state: 'closed', elsewhere: 'Acme/api' }]);
    expect(warned(await runOnce(project))).toBe(
      "#1, #3 name issues of other repositories (other/repo#2, other/repo#3), which are not checked: use GitHub's own dependencies to make them wait.",
    );
  });

  test('on an issue that does not exist: held, and the report names which', async () => {
    const run = await runOnce(queue({ 1: { body: 'Depends on #99' }, 2: {} }));
    expect(workedOn(run)).toEqual(['Title 2']);
    expect(warned(run)).toContain('#1 depends on #99, which does not exist');
  });

  test('in a circle: none of the circle is worked on, the rest is', async () => {
    const run = await runOnce(queue({ 3: { body: 'Depends on #5' }, 5: { body: 'Depends on #3' }, 7: {} }));
    expect(workedOn(run)).toEqual(['Title 7']);
    expect(run.end).toBe('blocked (needs_human)');
    expect(warned(run)).toContain('#3 → #5 → #3');
  });

  test.each<[string, Dependency, string]>([
    ['an open one', { number: 9, state: 'open', elsewhere: null }, 'blocked (needs_human)'],
    ['a closed one', { number: 9, state: 'closed', elsewhere: null }, 'complete (plan_complete)'],
    ['an open one elsewhere', { number: 9, state: 'open', elsewhere: 'acme/api' }, 'blocked (needs_human)'],
    ['a closed one elsewhere', { number: 9, state: 'closed', elsewhere: 'acme/api' }, 'complete (plan_complete)'],
  ])("GitHub's own count as well: %s", async (_, dependency, end) => {
    const project = queue({ 1: { blockedBy: 1 } });
    project.forge.dependencies.set(1, [dependency]);
    expect((await runOnce(project)).end).toBe(end);
  });

  test('only thirty issues are requested from GitHub; the others wait', async () => {
    const project = queue(
      Object.fromEntries(Array.from({ length: 35 }, (_, index) => [index + 1, { openSubIssues: 1 }])),
      { 'max-iterations': '1' },
    );
    const asked: number[] = [];
    const { dependenciesOf } = project.forge;
    project.forge.dependenciesOf = (number) => {
      asked.push(number);
      return dependenciesOf(number);
    };
    const run = await runOnce(project);
    expect(asked).toHaveLength(30);
    expect(warned(run)).toContain('5 more issues have dependencies');
    expect(run.work?.tasks.filter(({ obstacle }) => obstacle === null).length).toBeLessThanOrEqual(30);
  });

  test('that are done in an unexpected order: a task that becomes free then has its text and its approval', async () => {
    const urgent = { labels: ['ralph', 'P0'] };
    const chain = {
      1: urgent,
      2: { ...urgent, body: 'Depends on #1' },
      3: { ...urgent, body: 'Depends on #2' },
      4: { ...urgent, body: 'Depends on #3' },
    };
    const project = queue(
      { ...chain, 5: {}, 6: { ...urgent, body: 'In blue. Depends on #5' }, 7: {}, 8: {} },
      { 'max-iterations': '4', 'max-iterations-per-task': '1' },
    );
    project.script.behaviours = [finisher, steadyWorker, finisher];
    expect(workedOn(await runOnce(project))).toEqual(['Title 1', 'Title 2', 'Title 5', 'Title 6']);
    expect(project.script.calls.at(-1)?.prompt).toContain('In blue');
    expect(savedState(project).tasks['issue-6']?.approval).toBeDefined();
  });

  test('apply to a named issue as well, and the requester is notified', async () => {
    const project = queue({ 1: { body: 'Depends on #2' }, 2: {} });
    expect(await runOnce(project, { event: commented('/ralph run', { issue: 1 }) })).toMatchObject({
      end: 'blocked (needs_human)',
      calls: 0,
    });
    expect([...(project.forge.comments.get(1)?.values() ?? [])].join()).toContain('it depends on');
  });

  const dependsOn = (count: number, from: number): string =>
    `Depends on ${Array.from({ length: count }, (_, index) => `#${String(from + index)}`).join(', ')}`;

  test('a text that names hundreds is reported, without work or requests for it', async () => {
    const project = queue({ 1: { body: dependsOn(300, 1_000) }, 2: {} });
    project.forge.faults.set('statesOf', new Error('Nobody should ask.'));
    const run = await runOnce(project);
    expect(workedOn(run)).toEqual(['Title 2']);
    expect(warned(run)).toContain('#1 names more than 100 issues to wait for,');
  });

  test('only ten that do not exist are named', async () => {
    expect(warned(await runOnce(queue({ 1: { body: dependsOn(13, 1_000) }, 2: {} })))).toContain(
      '#1008, #1009 and 3 more, which does not exist',
    );
  });

  test('of a thousand issues are requested, the others count as open', async () => {
    const project = queue(
      Object.fromEntries(
        Array.from({ length: 11 }, (_, index) => [index + 1, { body: dependsOn(100, 1_000 + 100 * index) }]),
      ),
    );
    const asked: number[] = [];
    project.forge.statesOf = (numbers) => {
      asked.push(...numbers);
      return Promise.resolve(new Map(numbers.map((number) => [number, 'closed'])));
    };
    // The pull request takes five tasks.
    expect(workedOn(await runOnce(project))).toHaveLength(5);
    expect(asked).toHaveLength(1_000);
  });

  test('are requested at once, and only for tasks that are not done', async () => {
    const project = queue({
      1: { body: 'Depends on #7 and #8' },
      2: { body: 'Depends on #8' },
      7: { state: 'closed' },
      8: { state: 'closed' },
    });
    const asked: (readonly number[])[] = [];
    const { statesOf } = project.forge;
    project.forge.statesOf = (numbers) => {
      asked.push(numbers);
      return statesOf(numbers);
    };
    await runOnce(project);
    await runOnce(project);
    expect(asked).toEqual([[7, 8]]);
  });
});

describe('texts of issues', () => {
  test.each<[string, Partial<Issue>, string]>([
    [
      'what a reader does not see is removed',
      { body: 'Do it.<!-- or not -->' },
      "15 characters that readers of the issues do not see were removed from the tasks' texts.",
    ],
    [
      'what is too long is cut off, which is another thing',
      { body: 'x'.repeat(60_000) },
      'The text of #1 is longer than 20,000 characters: its end is left out (40,000 characters).',
    ],
    [
      'that shows nothing',
      { title: '\u200B\u200B', body: '\u200B' },
      "3 characters that readers of the issues do not see were removed from the tasks' texts.\nThe title and text of #1 have no visible content: the agent gets only the number.",
    ],
  ])('%s', async (_, change, expected) => {
    const project = createProject({ issues: [], agent: [finisher] });
    addIssue(project.forge, 1, change);
    expect(warned(await runOnce(project))).toBe(expected);
  });
});
