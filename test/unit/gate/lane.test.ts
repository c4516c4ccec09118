import { describe, expect, test } from 'vitest';
import { createInitialState, STATE_VERSION } from '../../../src/core/lane/state/state.ts';
import { UserError } from '../../../src/errors.ts';
import { judgeLane } from '../../../src/gate/lane/restore.ts';
import { finisher, steadyWorker, stuck } from '../../loop/stage/behaviours.ts';
import { addCommit } from '../../loop/stage/in-memory.ts';
import {
  addIssue,
  changeState,
  commented,
  createProject,
  cutOff,
  labeled,
  loseState,
  putDocument,
  runOnce,
  savedDocument,
  savedState,
  schedule,
  type Run,
  savedIn,
  warningsIn,
} from '../../loop/stage/run-action.ts';
import type { Project } from '../../loop/stage/project.ts';
import { noon } from '../core/core-fixtures.ts';

const messageOf = (outcome: Run['outcome']): string => (outcome.kind === 'failed' ? outcome.message : '');
const taskIds = (run: Run) => run.work?.journal.map(({ taskId }) => taskId);

describe('the state', () => {
  const begun = async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '2' } });
    await runOnce(project);
    project.script.behaviours = [stuck];
    project.inputs = {};
    return project;
  };

  test.each<[string, (project: Project) => void]>([
    ['is missing', loseState],
    [
      'cannot be read',
      (project) => {
        putDocument(project, { sequence: 1, document: '{"version":1' });
      },
    ],
    [
      'belongs to another branch',
      (project) => {
        putDocument(project, { sequence: 1, document: JSON.stringify(createInitialState('issue-9', noon)) });
      },
    ],
  ])('that is expected and %s: one probe, and the report gives the reason', async (_name, lose) => {
    const project = await begun();
    lose(project);
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'halted (circuit_open)', calls: 1 });
    expect(warningsIn(run).join()).toContain('begins with one probe iteration');
  });

  test('of a newer version is an error before anything is written but a notification', async () => {
    const project = await begun();
    putDocument(project, {
      sequence: 1,
      document: JSON.stringify({ ...savedState(project), version: STATE_VERSION + 1 }),
    });
    const before = [...project.forge.writes];
    expect(await runOnce(project)).toMatchObject({
      end: 'failed (configuration)',
      outcome: {
        message: expect.stringMatching(/newer version of this action \(version 10\).*Use that version/) as string,
      },
    });
    expect(project.forge.writes).toEqual([...before, 'notified on #101']);
  });

  test.each([
    ['directory', 'Use that version, or delete the files .ralph/state/snapshot.*.json.'],
    ['ref', 'delete the ref refs/ralph/v2/state'],
  ])('of a newer version, in the %s: the advice is about that place', (origin, advice) => {
    const deps = { clock: { now: () => noon }, runTag: 'tag', context: { runId: '1', runAttempt: 1 } };
    const judged = () =>
      judgeLane(
        { restored: { kind: 'newer', version: 9, origin }, snapshot: null, budget: null, left: null },
        { lane: 'queue', expected: true, elsewhere: [], deps },
      );
    expect(judged).toThrow(advice);
  });

  test("that is out of reach: no call, for it may be another run's, or paused", async () => {
    const project = createProject({ agent: [finisher] });
    cutOff(project, 'it does not answer');
    expect(await runOnce(project)).toMatchObject({
      end: 'failed (infrastructure)',
      calls: 0,
      outcome: { message: expect.stringContaining('so no call is made: it does not answer.') as string },
    });
  });

  test('that the cache alone keeps and does not give: one probe, and the report gives the reason', async () => {
    const project = createProject({
      issues: [1],
      agent: [steadyWorker],
      inputs: { 'state-store': 'cache', 'max-iterations': '1' },
    });
    await runOnce(project);
    cutOff(project, 'it does not answer');
    const run = await runOnce(project);
    expect(run.calls).toBe(1);
    expect(warningsIn(run).join()).toContain('begins with one probe iteration');
  });

  test('that the cache alone keeps and does not give, before the lane has a branch, is a first run, with a warning', async () => {
    const project = createProject({ agent: [finisher], inputs: { 'state-store': 'cache' } });
    cutOff(project, 'it does not answer');
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', report: { saved: { kind: 'not-saved' } } });
    expect(warningsIn(run).join()).toContain('it does not answer');
  });

  test('state-store: none neither reads nor writes one', async () => {
    const project = createProject({ agent: [finisher], inputs: { 'state-store': 'none' } });
    expect(savedIn(await runOnce(project))).toEqual({ kind: 'not-saved', why: 'state-store is "none"' });
    expect([project.kept.refs.shared.snapshot.size, project.kept.cache.saved.size]).toEqual([0, 0]);
  });
});

describe('where the branch begins', () => {
  const published = async () => {
    const project = createProject({ agent: [finisher] });
    await runOnce(project);
    const pull = project.forge.pulls[0];
    if (pull === undefined) throw new Error('no pull request');
    const head = project.origin.branches.get('ralph/queue') ?? '';
    return {
      project,
      head,
      set: (change: Partial<typeof pull>) => {
        project.forge.pulls[0] = { ...pull, headSha: head, ...change };
      },
    };
  };

  test('an open pull request is continued', async () => {
    const { project, head } = await published();
    addIssue(project.forge, 2);
    const run = await runOnce(project);
    expect(run.work?.lane).toMatchObject({
      start: { kind: 'continue', remoteHead: head },
      pullRequest: { number: 101 },
    });
    expect(project.forge.pulls).toHaveLength(1);
  });

  test('after a merge the lane begins again at the base, with a new pull request', async () => {
    const { project, head, set } = await published();
    set({ state: 'merged' });
    project.origin.branches.set('main', head);
    addIssue(project.forge, 2);
    const run = await runOnce(project);
    expect(run.work?.lane.start).toEqual({ kind: 'fresh' });
    expect(project.forge.pulls.map(({ number, state }) => [number, state])).toEqual([
      [101, 'merged'],
      [102, 'open'],
    ]);
  });

  test('after a merge that deleted the branch what is done stays done', async () => {
    const { project, head, set } = await published();
    set({ state: 'merged' });
    project.origin.branches.set('main', head);
    project.origin.branches.delete('ralph/queue');
    addIssue(project.forge, 2);
    expect(taskIds(await runOnce(project))).toEqual(['issue-2']);
  });

  test('a branch that is gone without a merge took its work with it: the tasks are open again', async () => {
    const { project, set } = await published();
    set({ state: 'closed' });
    project.origin.branches.delete('ralph/queue');
    const run = await runOnce(project);
    expect(run).toMatchObject({
      end: 'complete (plan_complete)',
      calls: 1,
      work: { lane: { start: { kind: 'fresh' } } },
    });
  });

  test('a branch that a person renamed, which closes its pull request: nothing is paid again until they resume it', async () => {
    const { project, head, set } = await published();
    // GitHub closes the pull request of a branch that is renamed.
    set({ state: 'closed' });
    project.origin.branches.delete('ralph/queue');
    project.origin.branches.set('feature/x', head);
    const renamed = await runOnce(project);
    const by = 'the renaming of branch ralph/queue to feature/x';
    expect(renamed).toMatchObject({ end: 'paused (by_person)', calls: 0, outcome: { by } });
    // The person continues there, and deletes the branch after a merge by hand.
    project.origin.branches.delete('feature/x');
    expect(await runOnce(project)).toMatchObject({ end: 'paused (by_person)', calls: 0, outcome: { by } });
    project.origin.branches.set('feature/x', head);
    await runOnce(project, { event: commented('/ralph resume', { issue: 1 }) });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test('a run whose `branch-prefix` is another ends before a call while the branch of the lane exists', async () => {
    const { project, set } = await published();
    const stored = savedState(project);
    project.inputs = { 'branch-prefix': 'bot/' };
    expect(await runOnce(project)).toMatchObject({
      end: 'failed (configuration)',
      calls: 0,
      outcome: { message: expect.stringMatching(/is on the branch ralph\/queue, .* makes it bot\/queue/) as string },
    });
    expect(savedState(project)).toEqual(stored);
    project.inputs = {};
    addIssue(project.forge, 2);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    set({ state: 'merged' });
    project.origin.branches.delete('ralph/queue');
    addIssue(project.forge, 3);
    project.inputs = { 'branch-prefix': 'bot/' };
    const moved = await runOnce(project);
    expect(moved).toMatchObject({ end: 'complete (plan_complete)', work: { lane: { branch: 'bot/queue' } } });
  });

  test('`branch-prefix` may change once the work is merged, also if its branch is left; nothing is paid again', async () => {
    const { project, set } = await published();
    set({ state: 'merged' });
    addIssue(project.forge, 2);
    project.inputs = { 'branch-prefix': 'bot/' };
    const moved = await runOnce(project);
    expect(moved).toMatchObject({ end: 'complete (plan_complete)', work: { lane: { branch: 'bot/queue' } } });
    expect(taskIds(moved)).toEqual(['issue-2']);
  });

  test('a branch that a person pushed to the base and deleted is neither renamed nor lost', async () => {
    const { project, head } = await published();
    project.forge.pulls.splice(0);
    project.origin.branches.set('main', head);
    project.origin.branches.delete('ralph/queue');
    addIssue(project.forge, 2);
    expect(taskIds(await runOnce(project))).toEqual(['issue-2']);
  });

  test('a pull request that a person closed pauses the queue; by name the work continues', async () => {
    const { project, set } = await published();
    set({ state: 'closed' });
    addIssue(project.forge, 2);
    const before = [...project.forge.writes];
    expect(await runOnce(project)).toMatchObject({
      end: 'paused (by_person)',
      calls: 0,
      outcome: { by: 'pull request #101, closed without merging' },
    });
    expect(project.forge.writes).toEqual(before);
    expect(await runOnce(project, { event: commented('/ralph run', { issue: 1 }) })).toMatchObject({
      end: 'complete (plan_complete)',
      calls: 1,
    });
  });

  test('a person who closed the pull request of an issue and labels it again wants a new one', async () => {
    const project = createProject({ agent: [finisher] });
    await runOnce(project, { event: labeled(1) });
    project.forge.pulls.splice(0, 1, ...project.forge.pulls.map((pull) => ({ ...pull, state: 'closed' as const })));
    expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(project.forge.pulls.map(({ number, state }) => [number, state])).toEqual([
      [101, 'closed'],
      [102, 'open'],
    ]);
  });

  test('a branch that a person pushed to is continued from there', async () => {
    const { project, head } = await published();
    const tip = addCommit(project.origin, { tree: { 'README.md': 'edited' }, parent: head, message: 'By hand' });
    project.origin.branches.set('ralph/queue', tip);
    addIssue(project.forge, 2);
    expect((await runOnce(project)).work?.lane.start).toEqual({ kind: 'continue', remoteHead: tip, personHead: tip });
  });
});

describe('preconditions', () => {
  test('are reported all at once, before a call is spent and before anything is written', async () => {
    const project = createProject();
    project.remote.obstacle = 'The token may not push: give it "contents: write".';
    const { outcome } = await runOnce(project, {
      hasProviderKey: false,
      prepare: ({ broken }) => {
        broken.push('The checkout is shallow.', 'The work tree is dirty.');
      },
    });
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'configuration' });
    expect(
      messageOf(outcome)
        .split('\n- ')
        .slice(1)
        .map((line) => line.slice(0, 24)),
    ).toEqual([
      'The checkout is shallow.',
      'The work tree is dirty.',
      'There is no key for the ',
      'The token may not push: ',
    ]);
    expect({
      writes: project.forge.writes,
      pushes: project.remote.pushes,
      calls: project.script.calls,
      saved: savedDocument(project),
    }).toEqual({ writes: ['notified on #1'], pushes: [], calls: [], saved: null });
  });

  test.each<[string, (project: Project) => void, RegExp]>([
    [
      'a token that may not open pull requests',
      ({ forge }) => {
        forge.faults.set(
          'checkMayOpenPullRequests',
          new UserError('configuration', 'Allow GitHub Actions to create pull requests.'),
        );
      },
      /Allow GitHub Actions/,
    ],
    [
      'an API that is rate-limited',
      ({ forge }) => {
        forge.faults.set(
          'openIssuesWithLabel',
          new UserError('infrastructure', 'The API is rate-limited until 13:00.'),
        );
      },
      /rate-limited/,
    ],
    [
      'a remote that refuses even reading',
      ({ remote }) => {
        remote.faults.set('branches', new UserError('infrastructure', 'The branches cannot be read.'));
      },
      /cannot be read/,
    ],
    [
      'a base branch within the prefix',
      (project) => {
        project.inputs = { 'base-branch': 'ralph/queue' };
      },
      /is the base branch/,
    ],
  ])('%s ends the run before a call is spent and before anything is written', async (_name, breakIt, message) => {
    const project = createProject();
    breakIt(project);
    expect(messageOf((await runOnce(project)).outcome)).toMatch(message);
    // The run only notifies people.
    const writes = project.forge.writes.filter((write) => !write.startsWith('notified'));
    expect({ writes, pushes: project.remote.pushes, calls: project.script.calls }).toEqual({
      writes: [],
      pushes: [],
      calls: [],
    });
  });

  test('after a command only the acknowledging reaction and the answer were written', async () => {
    const project = createProject();
    const run = await runOnce(project, { event: commented('/ralph run', { issue: 1 }), hasProviderKey: false });
    expect(run).toMatchObject({ end: 'failed (configuration)', calls: 0 });
    expect(project.forge.writes).toEqual(['eyes on comment 7', 'comment on #1']);
    expect([...(project.forge.comments.get(1)?.values() ?? [])].join()).toContain('There is no key for the agent');
  });

  test('none asks whether issues may be written to: the first issue shows it, and a refusal is a warning', async () => {
    const project = createProject({ issues: [3, 2], agent: [finisher] });
    await runOnce(project);
    expect(project.forge.writes[0]).toBe('eyes on #2');

    const barred = createProject({ agent: [finisher] });
    barred.forge.faults.set('react', new UserError('configuration', 'The token needs "issues: write".'));
    const run = await runOnce(barred);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(run.log).toContain('warning: The run continued without a reaction on #1: The token needs "issues: write".');
  });

  test('are not asked for by a run that has no work', async () => {
    const project = createProject({ agent: [finisher] });
    await runOnce(project);
    expect((await runOnce(project, { hasProviderKey: false, event: schedule })).end).toBe('idle (all_done)');
    changeState(project, (state) => ({
      ...state,
      tasks: {},
      circuit: { kind: 'open', totalOpens: 1, reason: 'no_progress', openedAt: project.clock.now(), taskId: null },
    }));
    expect((await runOnce(project, { hasProviderKey: false })).end).toBe('halted (circuit_open)');
  });
});
