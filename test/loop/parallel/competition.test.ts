import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { IS_DEEP } from '../../runs.ts';
import { nameOfLane } from '../../../src/core/tasks/ids.ts';
import { finisher, steadyWorker } from '../stage/behaviours.ts';
import type { Project } from '../stage/project.ts';
import {
  addIssue,
  createProject,
  finishOnce,
  gateOnce,
  type GateRun,
  labeled,
  runOnce,
  storedBudget,
  storedRecord,
} from '../stage/run-action.ts';
import { byChance, sideBySide } from '../stage/side-by-side.ts';
import { runLanes } from '../stage/split.ts';
import { killAt, open, type Tap } from '../stage/tap.ts';

const inputs = { parallel: '3', 'max-open-prs': '0' };
const gateJob = { phase: 'gate', digest: '', lane: 'each', run: 1 } as const;
const MANY = ['queue', ...Array.from({ length: 9 }, (_, at) => `issue-${String(at + 1)}`)];

/** Creates a project whose issue N names the N-th of these files. */
function shop(files: readonly string[] = ['a.ts', 'b.ts', 'c.ts'], agent = [finisher]): Project {
  const texts = Object.fromEntries([...new Set(files)].map((path) => [`src/${path}`, '']));
  const project = createProject({ issues: [], agent, files: texts });
  for (const [at, path] of files.entries()) addIssue(project.forge, at + 1, { body: `Change src/${path}` });
  return project;
}

const held = (project: Project): Readonly<Record<string, string>> =>
  Object.fromEntries(
    MANY.flatMap((lane) => {
      const lease = storedRecord(project, lane).lease;
      return lease === null ? [] : [[lane, lease.runTag]];
    }),
  );
const reserved = (project: Project) => storedBudget(project).reservations.map(({ runTag, tasks }) => [runTag, tasks]);
const lanesOf = ({ intake, beside }: GateRun): readonly (readonly [string | undefined, readonly string[]])[] =>
  [intake, ...beside.map((one) => one.intake)].map((one) => [one.lane?.id, one.tasks.map(({ id }) => id)]);

/** Does something before the first call of this name. */
function before(name: string, act: () => Promise<unknown>): Tap {
  let isDone = false;
  return {
    ...open,
    call: async (called, call) => {
      if (called === name && !isDone) {
        isDone = true;
        await act();
      }
      return open.call(called, call);
    },
  };
}

describe('while other runs work', () => {
  test('a second run of the queue ends, and the first keeps what it has', async () => {
    const project = shop();
    await gateOnce(project, { inputs });
    const [lanes, usage] = [held(project), reserved(project)];
    const second = await gateOnce(project, { inputs });
    expect(second.intake).toMatchObject({ kind: 'end', outcome: { kind: 'refused', reason: 'another_run' } });
    expect(second.beside).toEqual([]);
    expect(held(project)).toEqual(lanes);
    expect(reserved(project)).toEqual(usage);
  });

  test('a branch that another run claims meanwhile is left out; the others stay', async () => {
    const project = shop();
    const tap = before('refs.write', () => gateOnce(project, { event: labeled(2) }));
    const run = await gateOnce(project, { inputs, tap });
    expect(lanesOf(run)).toEqual([
      ['queue', ['issue-1']],
      ['issue-3', ['issue-3']],
    ]);
    expect(held(project)).toEqual({ queue: 'run-1:queue', 'issue-2': 'run-2', 'issue-3': 'run-1:issue-3' });
    expect(run.claims.map(({ lane }) => lane)).toEqual(['queue', 'issue-3']);
  });

  test('a queue that another run claims meanwhile ends the run, with nothing claimed', async () => {
    const project = shop();
    const tap = before('refs.write', () => gateOnce(project));
    const run = await gateOnce(project, { inputs, tap });
    expect(run.intake).toMatchObject({ kind: 'end', outcome: { kind: 'refused', reason: 'another_run' } });
    expect(run.claims).toEqual([]);
    expect(held(project)).toEqual({ queue: 'run-2' });
  });

  test('no new branch touches the files of a branch on which another run works', async () => {
    const project = shop(['a.ts', 'b.ts', 'b.ts', 'c.ts']);
    project.inputs = { 'max-iterations': '1' };
    project.script.behaviours = [steadyWorker];
    await runOnce(project, { event: labeled(2) });
    await gateOnce(project, { event: labeled(2) });
    expect(lanesOf(await gateOnce(project, { inputs: { ...inputs, 'max-iterations': '9' } }))).toEqual([
      ['queue', ['issue-1', 'issue-3']],
      ['issue-4', ['issue-4']],
    ]);
  });
});

test('branches on which other runs work count among those at once', async () => {
  const project = shop(['a.ts', 'b.ts', 'c.ts', 'd.ts']);
  await gateOnce(project, { event: labeled(2) });
  const lanes = async (parallel: string) =>
    lanesOf(await gateOnce(project, { inputs: { ...inputs, parallel } })).map(([lane]) => lane);
  const before = structuredClone(project.kept.refs.shared);
  expect(await lanes('2')).toEqual(['queue']);
  Object.assign(project.kept.refs.shared, before);
  expect(await lanes('3')).toEqual(['queue', 'issue-3']);
});

test('runs of the queue and of labels at once, in any order, share no branch and no task', async () => {
  for (let seed = 1; seed <= (IS_DEEP ? 400 : 20); seed += 1) {
    const project = shop();
    const events = [null, labeled(2), null, labeled(3)];
    const runs = events.map(
      (event) => (tap: Tap) => gateOnce(project, event === null ? { tap, inputs } : { tap, event }),
    );
    const done = await sideBySide(runs, byChance(seed));
    const works = done.flatMap(({ intake, beside }) =>
      [intake, ...beside.map((one) => one.intake)].filter(({ kind }) => kind === 'work'),
    );
    const lanes = works.map(({ lane }) => lane?.id);
    const tasks = works.flatMap((one) => one.tasks.map(({ id }) => id));
    expect([lanes.toSorted(), tasks.toSorted()], String(seed)).toEqual([
      ['issue-2', 'issue-3', 'queue'],
      ['issue-1', 'issue-2', 'issue-3'],
    ]);
  }
});

describe('unfinished branches of issues', () => {
  async function unfinished(files?: readonly string[]): Promise<Project> {
    const project = shop(files, [steadyWorker]);
    project.inputs = { 'max-iterations': '1' };
    await runOnce(project, { event: labeled(2) });
    await runOnce(project, { event: labeled(3) });
    project.inputs = {};
    return project;
  }

  test('continue beside the queue, each with its own state', async () => {
    const project = await unfinished();
    const run = await gateOnce(project, { inputs });
    expect(lanesOf(run)).toEqual([
      ['queue', ['issue-1']],
      ['issue-2', ['issue-2']],
      ['issue-3', ['issue-3']],
    ]);
    expect(
      run.beside.map(({ intake }) => [intake.lane.start.kind, intake.state.tasks[intake.lane.id]?.attempts]),
    ).toEqual([
      ['continue', 1],
      ['continue', 1],
    ]);
  });

  test('continue together if the queue has nothing to do', async () => {
    const project = await unfinished();
    project.forge.issues.delete(1);
    const run = await gateOnce(project, { inputs });
    expect(lanesOf(run)).toEqual([
      ['issue-2', ['issue-2']],
      ['issue-3', ['issue-3']],
    ]);
    expect([run.runTag, ...run.beside.map(({ runTag }) => runTag)]).toEqual(['run-3:issue-2', 'run-3:issue-3']);
  });

  test.each([
    ['1', ['ralph/queue']],
    ['2', ['ralph/queue', 'ralph/issue-2']],
    ['0', ['ralph/queue', 'ralph/issue-2', 'ralph/issue-3']],
  ])('without a pull request count as one: max-open-prs %s', async (most, branches) => {
    const project = shop();
    project.inputs = { ...inputs };
    await runLanes(project, { loop: () => 'never', publish: () => 'never' });
    expect([project.origin.branches.size, project.forge.pulls]).toEqual([4, []]);
    project.inputs = { ...inputs, 'max-open-prs': most };
    await runLanes(project);
    expect(project.forge.pulls.map(({ branch }) => branch)).toEqual(branches);
  });

  test('cost at most 15 requests more', async () => {
    const project = shop(['a.ts', 'b.ts', 'c.ts', 'd.ts'], [steadyWorker]);
    project.inputs = { 'max-iterations': '1' };
    for (const issue of [2, 3, 4]) await runOnce(project, { event: labeled(issue) });
    project.inputs = {};
    const counts: number[] = [];
    for (const parallel of ['1', '20']) {
      const asked: string[] = [];
      const tap: Tap = {
        ...open,
        call: (name, call) => {
          // Opening a branch fetches nothing again that the predictions needed.
          if (/^(?:forge|remote|refs|repository.history)/.test(name)) asked.push(name);
          return open.call(name, call);
        },
      };
      const copy = structuredClone(project.kept.refs.shared);
      const { beside } = await gateOnce(project, { inputs: { ...inputs, parallel }, tap });
      expect(beside).toHaveLength(parallel === '1' ? 0 : 2);
      Object.assign(project.kept.refs.shared, copy);
      counts.push(asked.filter((name) => name !== 'forge.defaultBranch').length);
    }
    expect((counts[1] ?? 0) - (counts[0] ?? 0)).toBeLessThanOrEqual(15);
  });

  test('that cannot be opened are given back, and the others continue', async () => {
    const project = await unfinished();
    let opened = 0;
    const tap: Tap = {
      ...open,
      call: (name, call) => {
        opened += name === 'repository.openLane' ? 1 : 0;
        if (name === 'repository.openLane' && opened === 2) throw new UserError('infrastructure', 'The branch moved.');
        return open.call(name, call);
      },
    };
    const run = await gateOnce(project, { inputs, tap });
    expect(lanesOf(run).map(([lane]) => lane)).toEqual(['queue', 'issue-3']);
    expect(held(project)).toEqual({ queue: 'run-3:queue', 'issue-3': 'run-3:issue-3' });
    expect(reserved(project).map(([tag]) => tag)).toEqual(['run-3:issue-3', 'run-3:queue']);
    expect(run.log.join('\n')).toContain('ralph/issue-2 is not worked on in this run: The branch moved.');
  });
});

describe('nothing stays claimed or reserved', () => {
  test.each(['forge.checkMayOpenPullRequests', 'repository.openLane'])(
    'if the first branch fails at %s',
    async (point) => {
      const project = shop();
      project.inputs = inputs;
      const tap = before(point, () => Promise.reject(new UserError('infrastructure', 'It failed.')));
      const run = await runOnce(project, { job: gateJob, hasProviderKey: false, tap });
      expect(run.end).toBe('failed (infrastructure)');
      expect(held(project)).toEqual({});
      expect(reserved(project)).toEqual([]);
    },
  );

  test('if the run is killed right after its claims', async () => {
    const project = shop();
    project.inputs = inputs;
    const tap = killAt((name) => name === 'refs.write', 'after');
    const run = await runOnce(project, { job: gateJob, hasProviderKey: false, tap });
    expect(Object.keys(held(project))).toEqual(['queue', 'issue-2', 'issue-3']);
    await finishOnce(project, run);
    expect(held(project)).toEqual({});
    expect(reserved(project)).toEqual([]);
  });

  test('if the run is killed right after its claims, and its record is lost', async () => {
    const project = shop();
    project.inputs = inputs;
    const tap = killAt((name) => name === 'refs.write', 'after');
    const run = await runOnce(project, { job: gateJob, hasProviderKey: false, tap });
    run.machine.record = 'null';
    await finishOnce(project, run);
    expect(held(project)).toEqual({});
  });
});

test('if nothing can keep runs apart, the run works on the queue alone, which is said', async () => {
  const project = shop();
  project.kept.refs.refusal = 'the token may not write it';
  const run = await gateOnce(project, { inputs });
  expect(lanesOf(run)).toEqual([['queue', ['issue-1', 'issue-2', 'issue-3']]]);
  expect(run.intake.notes.warnings.join()).toContain(
    `Nothing keeps a second run from working on ${nameOfLane('queue')}`,
  );
});
