import { afterEach, describe, expect, test, vi } from 'vitest';
import { boaster, finisher, steadyWorker, type Behaviour } from '../stage/behaviours.ts';
import { addCommit } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import {
  addIssue,
  commented,
  createProject,
  labeled,
  runOnce,
  savedState,
  schedule,
  senderOf,
  warningsIn,
  type Event,
  type Run,
} from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';
import { open, type Tap } from '../stage/tap.ts';

/** Returns a tap with a person's action during the first call. */
function during(act: () => Promise<void> | void): Tap {
  let isDone = false;
  return {
    ...open,
    call: async (name, call) => {
      const answer = await call();
      if (name === 'agent.call' && !isDone) {
        isDone = true;
        await act();
      }
      return answer;
    },
  };
}

const bodies = ({ forge }: Project): string => forge.pulls.map(({ body }) => body).join('\n');
const labelsOf = ({ forge }: Project, issue: number): readonly string[] => forge.issues.get(issue)?.labels ?? [];
const saying = (action: string, issue = 1): Event => ({
  name: 'issues',
  payload: {
    action,
    label: { name: 'ralph' },
    issue: { number: issue, state: action === 'closed' ? 'closed' : 'open', labels: [{ name: 'ralph' }] },
    sender: senderOf('ann'),
  },
});
const messageIn = ({ outcome }: Run): string => ('message' in outcome ? outcome.message : '');

/** The ways to take issue #1 back. */
const ways: readonly (readonly [string, (project: Project) => void])[] = [
  ['closed', ({ forge }) => addIssue(forge, 1, { state: 'closed' })],
  ['unlabelled', ({ forge }) => addIssue(forge, 1, { labels: ['bug'] })],
  ['deleted or transferred', ({ forge }) => void forge.issues.delete(1)],
];

/** Returns a tap whose first call runs for two minutes after a person's action. */
function longAfter(act: () => void): Tap {
  let isDone = false;
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  return {
    ...open,
    call: async (name, call) => {
      if (name === 'agent.call' && !isDone) {
        isDone = true;
        act();
        await vi.advanceTimersByTimeAsync(120_000);
      }
      return await call();
    },
  };
}
afterEach(() => {
  vi.useRealTimers();
});

describe('a call that runs for long', () => {
  test.each(ways)('is ended if its issue is %s, and its claims do not count', async (_way, takeBack) => {
    const project = createProject({ issues: [1, 2], agent: [boaster, finisher], inputs: { 'max-iterations': '5' } });
    const run = await runOnce(project, { tap: longAfter(() => takeBack(project)) });
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    expect(run.journal).toContain('"end":{"kind":"withdrawn"}');
    expect(savedState(project).tasks).toMatchObject({ 'issue-1': { state: 'in-progress' } });
    expect(bodies(project)).not.toContain('Closes #1');
  });

  test('is ended if the pull request of its branch is closed', async () => {
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    const close = (): void => {
      for (const pull of project.forge.pulls) Object.assign(pull, { state: 'closed' });
    };
    const run = await runOnce(project, { tap: longAfter(close) });
    expect(run.calls).toBe(1);
    expect(run.journal).toContain('"end":{"kind":"withdrawn"}');
    expect(run.end).toContain('paused');
  });

  test('is ended if its branch is renamed, and nothing is paid again until a person resumes it', async () => {
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    const rename = (): void => {
      const { branches } = project.origin;
      branches.set('mine', branches.get('ralph/queue') ?? '');
      branches.delete('ralph/queue');
      project.forge.pulls.splice(0, 1, ...project.forge.pulls.map((pull) => ({ ...pull, state: 'closed' as const })));
    };
    const run = await runOnce(project, { tap: longAfter(rename) });
    const by = 'the renaming of branch ralph/queue to mine';
    expect(run).toMatchObject({ end: 'paused (by_person)', calls: 1, outcome: { by } });
    project.origin.branches.delete('mine');
    expect(await runOnce(project)).toMatchObject({ end: 'paused (by_person)', calls: 0, outcome: { by } });
  });

  test.each([
    ['stays unpaid', 'mine', ['paused (by_person)', 0]],
    ['is begun again if it is on the base branch', 'main', ['limit (iterations)', 1]],
  ] as const)('between two runs, a renamed branch with a further commit %s', async (_, name, [end, calls]) => {
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    const { branches, commits } = project.origin;
    const parent = branches.get('ralph/queue') ?? '';
    const tree = { ...commits.get(parent)?.tree, 'src/mine.ts': 'mine' };
    branches.set(name, addCommit(project.origin, { tree, parent, message: 'Mine' }));
    branches.delete('ralph/queue');
    project.forge.pulls.splice(0, 1, ...project.forge.pulls.map((pull) => ({ ...pull, state: 'closed' as const })));
    expect(await runOnce(project)).toMatchObject({ end, calls });
    const comment = [...(project.forge.comments.get(1)?.values() ?? [])].join('\n');
    if (calls === 0) expect(comment).toMatch(/renaming of branch ralph\/queue to mine[^]*`\/ralph resume`/);
  });

  test('whose base branch was deleted, which closes its pull request, names that branch and nobody who closed it', async () => {
    const inputs = { 'base-branch': 'develop', 'max-iterations': '1' };
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs });
    const { branches } = project.origin;
    const tip = branches.get('main') ?? '';
    branches.set('develop', tip);
    await runOnce(project);
    branches.delete('develop');
    const closed = { state: 'closed', closedWithBase: true } as const;
    project.forge.pulls.splice(0, 1, ...project.forge.pulls.map((pull) => ({ ...pull, ...closed })));
    const run = await runOnce(project);
    expect(run).toMatchObject({
      end: 'failed (configuration)',
      calls: 0,
      outcome: { message: expect.stringContaining('The base branch `develop` does not exist') },
    });
    branches.set('develop', tip);
    expect(await runOnce(project)).toMatchObject({ end: 'paused (by_person)', calls: 0 });
    branches.delete('develop');
    project.inputs = { ...inputs, 'base-branch': 'main' };
    expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 1 });
    expect(project.forge.pulls).toMatchObject([{ state: 'closed' }, { state: 'open', base: 'main' }]);
  });

  test.each([
    ['by the schedule', runOnce],
    ['in three jobs', async (project: Project) => (await runSplit(project)).gate],
  ])('whose pull request a person closed stays closed when its base branch is deleted later (%s)', async (_, run) => {
    const inputs = { 'base-branch': 'develop', 'max-iterations': '1' };
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs });
    const { branches } = project.origin;
    branches.set('develop', branches.get('main') ?? '');
    await runOnce(project);
    project.forge.pulls.splice(0, 1, ...project.forge.pulls.map((pull) => ({ ...pull, state: 'closed' as const })));
    branches.delete('develop');
    project.inputs = { ...inputs, 'base-branch': 'main' };
    for (let time = 0; time < 2; time += 1)
      expect(await run(project)).toMatchObject({ end: 'paused (by_person)', calls: 0 });
    const asked = commented('/ralph run', { issue: 1 });
    expect(await runOnce(project, { event: asked })).toMatchObject({ calls: 1 });
  });

  test('is ended if its new branch is deleted, which no other branch makes a renaming', async () => {
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '2' } });
    const remove = (): void => void project.origin.branches.delete('ralph/queue');
    const by = 'the deletion of branch ralph/queue';
    expect(await runOnce(project, { tap: longAfter(remove) })).toMatchObject({ calls: 1, outcome: { by } });
    expect(savedState(project).pause).toBeNull();
  });

  test('in a pipeline no later step is called', async () => {
    const steps = ['implement', 'review'].map((name) => ({ type: 'agent', name }));
    const project = createProject({
      issues: [1],
      agent: [finisher],
      files: { '.ralph/config.json': JSON.stringify({ steps }) },
    });
    const run = await runOnce(project, { tap: longAfter(() => addIssue(project.forge, 1, { state: 'closed' })) });
    expect(run).toMatchObject({ end: 'paused (withdrawn)', calls: 1 });
  });
});

describe('an issue that a person takes back while the first call runs', () => {
  describe.each(ways)('%s', (_way, takeBack) => {
    test.each<[string, Behaviour]>([
      ['continues', steadyWorker],
      ['says that it is done', finisher],
      ['says that everything is done', boaster],
    ])('an agent that %s: no more calls, no claim of the issue, and the cost is booked', async (_what, behaviour) => {
      const project = createProject({ issues: [1], agent: [behaviour], inputs: { 'max-iterations': '5' } });
      const tap = during(() => takeBack(project));
      const run = await runOnce(project, { event: labeled(1), tap });
      expect(run).toMatchObject({ end: 'paused (withdrawn)', calls: 1 });
      expect(project.forge.pulls).toEqual([]);
      expect(labelsOf(project, 1)).not.toContain('ralph:done');
      expect(savedState(project, 'issue-1').tasks['issue-1']?.state).toBe('in-progress');
      expect(savedState(project, 'issue-1').ledger.map(({ calls }) => calls)).toEqual([1]);
      expect(warningsIn(run).join()).toMatch(/#1 (was closed|lost the task label|was deleted or transferred) while/);
      expect(project.origin.branches.has('ralph/issue-1')).toBe(true);
      // No later run works on the issue by itself.
      project.clock.advance(3_600_000);
      expect(await runOnce(project, { event: schedule })).toMatchObject({ calls: 0 });
    });

    test('of the queue: the others continue', async () => {
      const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-iterations': '5' } });
      const run = await runOnce(project, { tap: during(() => takeBack(project)) });
      expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
      expect(bodies(project)).toContain('Closes #2');
      expect(bodies(project)).not.toContain('Closes #1');
      expect(labelsOf(project, 1)).not.toContain('ralph:done');
      expect(labelsOf(project, 2)).toContain('ralph:done');
    });

    test('with three jobs: the job that publishes notices it', async () => {
      const project = createProject({ issues: [1], agent: [finisher], inputs: { 'max-iterations': '5' } });
      const { publish } = await runSplit(project, {
        event: labeled(1),
        loop: { tap: during(() => takeBack(project)) },
      });
      expect(publish).toMatchObject({ end: 'paused (withdrawn)' });
      expect(project.forge.pulls).toEqual([]);
      expect(labelsOf(project, 1)).not.toContain('ralph:done');
      expect(project.origin.branches.has('ralph/issue-1')).toBe(true);
    });
  });

  test('before its turn: no call', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-iterations': '5' } });
    const tap = during(() => addIssue(project.forge, 2, { state: 'closed' }));
    const run = await runOnce(project, { tap });
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(bodies(project)).toContain('Closes #1');
    expect(bodies(project)).not.toMatch(/(Closes|Part of) #2/);
  });

  test('and returns before the call ends: work continues', async () => {
    const project = createProject({ issues: [1], agent: [finisher] });
    const tap = during(() => {
      addIssue(project.forge, 1, { state: 'closed' });
      addIssue(project.forge, 1);
    });
    expect(await runOnce(project, { event: labeled(1), tap })).toMatchObject({ end: 'complete (plan_complete)' });
    expect(bodies(project)).toContain('Closes #1');
  });

  test('with a pull request from an earlier run, which says so and stays a draft', async () => {
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project, { event: labeled(1) });
    project.script.behaviours = [finisher];
    project.clock.advance(60_000);
    const tap = during(() => addIssue(project.forge, 1, { state: 'closed' }));
    const run = await runOnce(project, { event: labeled(1), tap });
    expect(run).toMatchObject({ end: 'paused (withdrawn)', calls: 1 });
    expect(project.forge.pulls).toMatchObject([{ draft: true, state: 'open' }]);
    expect(bodies(project)).not.toContain('Closes #1');
    const comment = [...(project.forge.comments.get(1)?.values() ?? [])].join('\n');
    expect(comment).toContain('taken back while a run was working on it');
  });
});

describe('the answer of the event', () => {
  test.each(['closed', 'unlabeled', 'deleted', 'transferred'])('%s: during a run', async (action) => {
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '5' } });
    let answer = '';
    const tap = during(async () => {
      if (action === 'closed') addIssue(project.forge, 1, { state: 'closed' });
      else if (action === 'unlabeled') addIssue(project.forge, 1, { labels: [] });
      else project.forge.issues.delete(1);
      answer = messageIn(await runOnce(project, { event: saying(action) }));
    });
    await runOnce(project, { tap });
    expect(answer).toMatch(
      /A run that has it among its tasks is at work .*ends a call that runs for it within two minutes/,
    );
  });

  test('during a run of three jobs', async () => {
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '2' } });
    let answer = '';
    const tap = during(async () => {
      addIssue(project.forge, 1, { state: 'closed' });
      const job = { phase: 'gate', digest: '', run: (project.runs += 1) } as const;
      answer = messageIn(await runOnce(project, { event: saying('closed'), job }));
    });
    await runSplit(project, { loop: { tap } });
    expect(answer).toMatch(/cannot be reached while it works; the job that publishes/);
  });

  test.each([
    ['one job', /on hold\. A run is working on it \(http.*: it ends its call within two minutes, makes no other/],
    ['three jobs', /on hold\. A run is working on it \(http.*cannot be reached while it works; the job that publishes/],
  ])('a pull request closed during a run of %s', async (jobs, said) => {
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    project.clock.advance(60_000);
    const repo = { full_name: 'acme/shop' };
    let answer = '';
    const tap = during(async () => {
      const [pull] = project.forge.pulls;
      Object.assign(pull ?? expect.fail(), { state: 'closed' });
      const head = { ref: 'ralph/queue', sha: project.origin.branches.get('ralph/queue'), repo };
      const closed = { number: pull?.number, merged: false, state: 'closed', head, base: { repo } };
      const payload = { action: 'closed', pull_request: closed, sender: senderOf('ann') };
      const job = jobs === 'one job' ? {} : { job: { phase: 'gate', digest: '', run: (project.runs += 1) } as const };
      answer = messageIn(await runOnce(project, { event: { name: 'pull_request', payload }, ...job }));
    });
    await (jobs === 'one job' ? runOnce(project, { tap }) : runSplit(project, { loop: { tap } }));
    expect(answer).toMatch(said);
  });

  test('without a run on it', async () => {
    const project = createProject({ issues: [1], agent: [steadyWorker] });
    addIssue(project.forge, 1, { state: 'closed' });
    expect(messageIn(await runOnce(project, { event: saying('closed') }))).toContain('No run is working on it.');
  });
});

describe("changes to the lane's branch and pull request during a call", () => {
  const begun = async () => {
    const project = createProject({ issues: [1, 2], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    project.script.behaviours = [finisher];
    project.inputs = { 'max-iterations': '5' };
    project.clock.advance(60_000);
    return project;
  };
  const closePull = (project: Project): void => void Object.assign(project.forge.pulls[0] ?? {}, { state: 'closed' });
  const deleteBranch = (project: Project): void => {
    project.origin.branches.delete('ralph/queue');
    closePull(project);
  };

  test('the pull request is closed: no more calls, nothing is ready, the work stays on the branch', async () => {
    const project = await begun();
    const before = project.origin.branches.get('ralph/queue');
    const run = await runOnce(project, { tap: during(() => closePull(project)) });
    expect(run).toMatchObject({ end: 'paused (by_person)', calls: 1 });
    expect(project.forge.pulls).toMatchObject([{ state: 'closed', draft: true }]);
    expect(bodies(project)).not.toContain('Closes #1');
    expect(labelsOf(project, 1)).not.toContain('ralph:done');
    expect(project.origin.branches.get('ralph/queue')).not.toBe(before);
    expect(await runOnce(project)).toMatchObject({ end: 'paused (by_person)', calls: 0 });
  });

  test('the branch is deleted: it is not created again, and no work of the run is called done', async () => {
    const project = await begun();
    const run = await runOnce(project, { tap: during(() => deleteBranch(project)) });
    expect(run).toMatchObject({ end: 'paused (by_person)', calls: 1 });
    expect(project.origin.branches.has('ralph/queue')).toBe(false);
    expect(project.forge.pulls).toHaveLength(1);
    expect(labelsOf(project, 1)).not.toContain('ralph:done');
  });

  test('the branch is deleted in the first run, which has no pull request yet', async () => {
    const project = createProject({ issues: [1], agent: [finisher], inputs: { 'max-iterations': '5' } });
    const run = await runOnce(project, { tap: during(() => void project.origin.branches.delete('ralph/queue')) });
    expect(run).toMatchObject({ end: 'paused (by_person)', calls: 1 });
    expect(project.origin.branches.has('ralph/queue')).toBe(false);
    expect(project.forge.pulls).toEqual([]);
  });

  test.each<[string, (project: Project) => void]>([
    ['closed', closePull],
    ['deleted', deleteBranch],
  ])('with three jobs, %s: the job that publishes notices it', async (what, act) => {
    const project = await begun();
    const { publish } = await runSplit(project, { loop: { tap: during(() => act(project)) } });
    expect(publish).toMatchObject({ end: 'paused (by_person)' });
    expect(bodies(project)).not.toContain('Closes #');
    expect(project.origin.branches.has('ralph/queue')).toBe(what === 'closed');
    expect(labelsOf(project, 1)).not.toContain('ralph:done');
  });

  test('finished work is removed from the branch: it is open again, and no page says that it is done', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-iterations': '5' } });
    await runOnce(project);
    const { branches, commits } = project.origin;
    const head = branches.get('ralph/queue') ?? '';
    const rest = commits.get(head)?.parent ?? '';
    expect(commits.get(head)?.message).toContain('Ralph-Task: issue-2');
    branches.set('ralph/queue', rest);
    Object.assign(project.forge.pulls[0] ?? {}, { headSha: rest });
    project.script.behaviours = [steadyWorker];
    const run = await runOnce(project, { event: schedule });
    expect(savedState(project).tasks).toMatchObject({ 'issue-1': { state: 'done' }, 'issue-2': { attempts: 5 } });
    expect(bodies(project)).toMatch(/Closes #1(?!.*Closes #2)/s);
    expect(warningsIn(run).join('\n')).toMatch(/Somebody removed finished work from ralph\/queue.*: #2\./);
  });

  test('a commit of the base that was removed by a rewrite is named before a merge brings it back', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-iterations': '1' } });
    const { branches } = project.origin;
    const kept = branches.get('main') ?? '';
    const key = addCommit(project.origin, { tree: { 'key.txt': 'x' }, parent: kept, message: 'Add a key' });
    branches.set('main', key);
    expect(warningsIn(await runOnce(project))).toEqual([]);
    branches.set('main', addCommit(project.origin, { tree: {}, parent: kept, message: 'Next' }));
    const run = await runOnce(project);
    expect(run).toMatchObject({ calls: 1 });
    const words =
      'ralph/queue has a commit that main lacks. If main was rewritten, merging the pull request would bring it';
    expect(warningsIn(run).join('\n')).toContain(words);
    expect(bodies(project)).toContain(words);
  });

  test('finished work is squashed or rebased by a person: it stays done', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-iterations': '5' } });
    await runOnce(project);
    const { branches, commits } = project.origin;
    for (const message of ['All of it', 'One\n\nRalph-Task: issue-1\n\nTwo\n\nRalph-Task: issue-2']) {
      const tree = commits.get(branches.get('ralph/queue') ?? '')?.tree ?? {};
      const squashed = addCommit(project.origin, { tree, parent: branches.get('main') ?? '', message });
      branches.set('ralph/queue', squashed);
      Object.assign(project.forge.pulls[0] ?? {}, { headSha: squashed });
      expect(await runOnce(project)).toMatchObject({ calls: 0 });
      expect(savedState(project).tasks).toMatchObject({ 'issue-1': { state: 'done' }, 'issue-2': { state: 'done' } });
    }
  });

  test('the pull request is merged, which is not a no', async () => {
    const project = await begun();
    const merge = (): void => {
      const head = project.origin.branches.get('ralph/queue');
      Object.assign(project.forge.pulls[0] ?? {}, { state: 'merged', headSha: head });
    };
    const run = await runOnce(project, { tap: during(merge) });
    expect(run.end).not.toContain('paused');
  });

  test.each(['one job', 'three jobs'])(
    'the pull request is merged and GitHub deletes its branch: the work goes to a new pull request (%s)',
    async (jobs) => {
      const project = await begun();
      const { branches } = project.origin;
      const merge = (): void => {
        const head = branches.get('ralph/queue') ?? '';
        Object.assign(project.forge.pulls[0] ?? {}, { state: 'merged', headSha: head });
        branches.set('main', head);
        branches.delete('ralph/queue');
      };
      const tap = during(merge);
      const run =
        jobs === 'one job' ? await runOnce(project, { tap }) : (await runSplit(project, { loop: { tap } })).publish;
      expect(run).toMatchObject({ end: 'complete (plan_complete)' });
      expect(project.forge.pulls).toMatchObject([{ state: 'merged' }, { state: 'open' }]);
      expect(branches.has('ralph/queue')).toBe(true);
    },
  );
});
