import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { addCommit } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import { addIssue, commented, createProject, labeled, makeRed, type Run, runOnce } from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';
import type { Behaviour } from '../stage/behaviours.ts';
import { open, type Tap } from '../stage/tap.ts';
import { HOUR, next, worker } from './reviewing.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';

const SECOND = 'ralph/issue-2';

/** Creates issues that are done on their own branches, each with a pull request: 101, 102, … */
async function done(issues: readonly number[], inputs: Readonly<Record<string, string>> = {}): Promise<Project> {
  const project = createProject({ issues, agent: [worker], inputs });
  for (const issue of issues)
    expect(await runOnce(project, { event: labeled(issue) })).toMatchObject({ end: 'complete (plan_complete)' });
  return project;
}

/** Commits to a branch as a person. */
function commit({ origin }: Project, branch: string, files: Readonly<Record<string, string>>): void {
  const parent = origin.branches.get(branch) ?? '';
  const tree = { ...origin.commits.get(parent)?.tree, ...files };
  origin.branches.set(branch, addCommit(origin, { tree, parent, message: 'By a person' }));
}

function summaryOf({ report }: Run): string {
  return report === null ? expect.fail() : renderSummary(report);
}

function bodyOf({ forge }: Project, number: number): string {
  return forge.pulls.find((pull) => pull.number === number)?.body ?? expect.fail();
}

describe('the merge order', () => {
  test('is on the page of each pull request, and in the summary, with the reason', async () => {
    const project = await done([1, 2, 3]);
    for (const number of [101, 102, 103])
      expect(bodyOf(project, number)).toContain('Merge #101 next: it conflicts with none');
    commit(project, 'ralph/issue-1', { shared: 'one' });
    commit(project, SECOND, { shared: 'two' });
    const run = await next(project);
    expect(run.calls).toBe(0);
    expect(summaryOf(run)).toContain('- Merge #103 next: it conflicts with none of the others');
    expect(summaryOf(run)).toContain('- #102: it conflicts with #101, which comes first.');
    for (const number of [101, 102, 103]) expect(bodyOf(project, number)).toContain('Merge #103 next');
    expect(bodyOf(project, 102)).toContain('#102: it conflicts with #101, which comes first.');
    expect(bodyOf(project, 101)).not.toContain('#102: it conflicts');
    const before = project.forge.writes.length;
    await next(project);
    expect(project.forge.writes.slice(before)).toEqual([]);
  });

  test('is in the answer to a question for the status', async () => {
    const project = await done([1, 2]);
    await next(project, commented('/ralph status', { issue: 1 }));
    expect([...(project.forge.comments.get(1)?.values() ?? [])].join('\n')).toContain('Merge #101 next');
  });

  test('leaves a page that is alone as it is', async () => {
    const project = await done([1]);
    await next(project);
    expect(bodyOf(project, 101)).not.toContain('ralph:merge-order');
    expect(project.forge.writes).not.toContain('rewrote #101');
  });

  test('says on a page that is alone how the run leaves it', async () => {
    const inTwo: Behaviour = (call) =>
      call.files['begun'] === undefined ? { writes: { begun: 'yes' } } : worker(call);
    const project = createProject({ issues: [1], agent: [inTwo], inputs: { 'max-iterations': '1' } });
    await next(project);
    const draft = project.forge.pulls[0]?.draft;
    await next(project);
    expect([draft, project.forge.pulls[0]?.draft, bodyOf(project, 101)]).toEqual([
      ...[true, false],
      expect.not.stringContaining('it is still a draft'),
    ]);
  });

  test('costs no run its work where the pages cannot be written', async () => {
    const project = await done([1, 2]);
    project.forge.faults.set('rewriteBodies', new UserError('configuration', 'Not accessible.'));
    addIssue(project.forge, 3);
    expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });
});

describe('a pull request that is only behind', () => {
  test('is left, which is said', async () => {
    const project = await done([1, 2]);
    commit(project, 'main', { other: 'new' });
    const head = project.origin.branches.get(SECOND);
    const run = await next(project);
    expect([run.calls, project.origin.branches.get(SECOND)]).toEqual([0, head]);
    expect(summaryOf(run)).toContain('#102: it is only behind its base branch and stays so');
  });

  test('is said to have a stale verification if its base changed the same files', async () => {
    const project = await done([1, 2], { verify: 'npm test' });
    commit(project, 'main', { 'src/issue-2.ts': 'theirs' });
    expect(summaryOf(await next(project))).toContain(
      '#102: it is only behind its base branch and stays so: no rule requires it to be up to date; it was verified before its base branch changed the same files (`src/issue-2.ts`).',
    );
  });

  test.each(['a ruleset', 'GitHub'])(
    'gets its base without a call if %s wants that and it is next, one after the other',
    async (who) => {
      const project = await done([1, 2]);
      commit(project, 'main', { other: 'new' });
      if (who === 'GitHub') for (const branch of ['ralph/issue-1', SECOND]) project.forge.rules.behind.add(branch);
      else project.forge.rules.mustBeCurrent = true;
      const [first, second] = ['ralph/issue-1', SECOND].map((branch) => project.origin.branches.get(branch));
      const run = await next(project);
      expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
      expect(run.work?.lane.id).toBe('issue-1');
      expect(project.origin.branches.get('ralph/issue-1')).not.toBe(first);
      expect(project.origin.commits.get(project.origin.branches.get('ralph/issue-1') ?? '')?.tree).toMatchObject({
        other: 'new',
      });
      expect(project.origin.branches.get(SECOND)).toBe(second);
      expect(bodyOf(project, 101)).toContain('✅ [Merge main, as a rule of the branch requires]');
      project.forge.rules.behind.delete('ralph/issue-1');
      const idle = await next(project);
      expect([idle.calls, project.origin.branches.get(SECOND)]).toEqual([0, second]);
    },
  );

  test('becomes a task if `verify` fails on the base that a rule wants in it', async () => {
    const project = await done([1], { verify: 'npm test' });
    commit(project, 'main', { other: 'new' });
    project.forge.rules.mustBeCurrent = true;
    makeRed(project);
    const run = await next(project);
    expect(run.calls).toBeGreaterThan(0);
    expect(run.work?.lane.id).toBe('issue-1');
  });

  test('moves by the rules for an approved head alone', async () => {
    const project = await done([1]);
    commit(project, 'main', { other: 'new' });
    project.forge.rules.behind.add('ralph/issue-1');
    project.forge.saidOf.set('ralph/issue-1', { approvedBy: ['ann'], decision: 'approved', autoMerge: true });
    project.clock.advance(HOUR);
    expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
    const { writes } = project.forge;
    expect(writes).toContain('freed #101: no ready, no auto-merge');
    expect(writes.slice(writes.indexOf('freed #101: no ready, no auto-merge')).join('\n')).toMatch(/review.*ann/);
  });
});

describe('auto-merge', () => {
  const armed = { 'auto-merge': 'dependencies', verify: 'npm test' };
  const arms = ({ forge }: Project): readonly string[] => forge.writes.filter((line) => line.startsWith('armed '));

  test('is armed for the next pull request alone, and for the one behind it once that is merged', async () => {
    const project = await done([1, 2], armed);
    expect(arms(project)).toEqual(['armed ralph/issue-1']);
    expect(bodyOf(project, 101)).toContain('Auto-merge of #101 is on');
    expect(bodyOf(project, 102)).not.toContain('Auto-merge');
    await next(project);
    expect(arms(project)).toEqual(['armed ralph/issue-1']);
    const pull = project.forge.pulls[0] ?? expect.fail();
    project.forge.pulls[0] = { ...pull, state: 'merged' };
    await next(project);
    expect(arms(project)).toEqual(['armed ralph/issue-1', 'armed ralph/issue-2']);
  });

  test('is armed for one at a time, also when another one becomes the next', async () => {
    const project = await done([1, 2, 3], armed);
    commit(project, 'ralph/issue-1', { shared: 'one' });
    commit(project, 'ralph/issue-3', { shared: 'three' });
    await next(project);
    expect(bodyOf(project, 102)).toContain('Merge #102 next');
    expect(arms(project)).toEqual(['armed ralph/issue-1']);
    project.forge.saidOf.set('ralph/issue-1', {
      autoMerge: true,
      mergeable: 'conflicting',
      decision: 'changes-requested',
    });
    await next(project);
    expect(arms(project)).toEqual(['armed ralph/issue-1', 'armed ralph/issue-2']);
  });

  test('is not armed beside one that another run has armed in the meantime, or that GitHub has not judged yet', async () => {
    const project = createProject({ issues: [1, 2], agent: [worker], inputs: armed });
    let isBegun = false;
    const tap: Tap = {
      ...open,
      call: async (name, call) => {
        if (name === 'forge.openPullRequest' && !isBegun) {
          isBegun = true;
          await runOnce(project, { event: labeled(2) });
        }
        return open.call(name, call);
      },
    };
    await runOnce(project, { event: labeled(1), tap });
    expect(arms(project)).toEqual(['armed ralph/issue-2']);
    project.forge.saidOf.set('ralph/issue-2', { ...project.forge.saidOf.get('ralph/issue-2'), mergeable: 'unknown' });
    await next(project);
    expect(arms(project)).toEqual(['armed ralph/issue-2']);
  });

  test('does not stay on for a second one if another run arms one between the look and the order', async () => {
    const project = await done([1, 2], { verify: 'npm test' });
    project.inputs = { ...project.inputs, ...armed };
    const { writes, saidOf } = project.forge;
    const tap: Tap = {
      ...open,
      call: (name, call) => {
        if (name === 'forge.armAutoMerge') saidOf.set('ralph/issue-2', { autoMerge: true });
        return open.call(name, call);
      },
    };
    await runOnce(project, { tap });
    expect(writes.slice(-2)).toEqual(['armed ralph/issue-1', 'disarmed ralph/issue-1']);
    expect(bodyOf(project, 101)).not.toContain('Auto-merge');
    await next(project);
    expect(arms(project)).toEqual(['armed ralph/issue-1']);
  });

  test.each([
    ['earlier', -1, ['armed ralph/issue-1', 'disarmed ralph/issue-1']],
    ['at the same instant', 0, ['armed ralph/issue-1', 'disarmed ralph/issue-1']],
    ['later', 1, ['armed ralph/issue-1']],
  ] as const)('leaves the first of two on, if another run arms one %s', async (_, later, expected) => {
    const project = await done([1, 2], { verify: 'npm test' });
    project.inputs = { ...project.inputs, ...armed };
    const { saidOf, rules } = project.forge;
    const tap: Tap = {
      ...open,
      call: async (name, call) => {
        const answer = await open.call(name, call);
        if (name !== 'forge.armAutoMerge') return answer;
        saidOf.set('ralph/issue-2', { autoMerge: true });
        rules.armedAt.set('ralph/issue-2', (rules.armedAt.get('ralph/issue-1') ?? 0) + later);
        return answer;
      },
    };
    await runOnce(project, { tap });
    expect(project.forge.writes.filter((line) => /armed/.test(line))).toEqual(expected);
    expect(bodyOf(project, 101).includes('Auto-merge')).toBe(later > 0);
  });

  test('is armed where checks are left to people, and no other branch of the prefix is', async () => {
    const project = createProject({ issues: [1], agent: [worker], inputs: { ...armed, 'answer-checks': 'false' } });
    commit(project, 'main', { other: 'new' });
    project.origin.branches.set('ralph/of-a-person', project.origin.branches.get('main') ?? '');
    await project.forge.openPullRequest({ title: '', body: '', head: 'ralph/of-a-person', base: 'main', draft: false });
    project.forge.saidOf.set('ralph/of-a-person', { autoMerge: true });
    await runOnce(project, { event: labeled(1) });
    await next(project);
    expect(arms(project)).toEqual(['armed ralph/issue-1']);
  });

  test('is armed by the job that publishes, of three', async () => {
    const project = createProject({ issues: [1], agent: [worker], inputs: armed });
    await runSplit(project, { event: labeled(1) });
    expect(arms(project)).toEqual(['armed ralph/issue-1']);
  });

  test.each<[string, (project: Project) => unknown, Readonly<Record<string, string>>]>([
    ['the settings do not want it', () => undefined, { verify: 'npm test' }],
    ['nothing was verified', () => undefined, { 'auto-merge': 'dependencies' }],
    ['a person has committed on top', (project) => commit(project, 'ralph/issue-1', { mine: 'x' }), armed],
    ['it conflicts', ({ forge }) => forge.saidOf.set('ralph/issue-1', { mergeable: 'conflicting' }), armed],
    [
      'changes are requested',
      ({ forge }) => forge.saidOf.set('ralph/issue-1', { decision: 'changes-requested' }),
      armed,
    ],
  ])('is not armed where %s', async (_, change, inputs) => {
    const project = await done([1], { ...inputs, 'auto-merge': 'false' });
    change(project);
    const later = { ...project, inputs: { ...project.inputs, ...inputs } };
    await next(later);
    expect(arms(later)).toEqual([]);
  });

  test('waits for a new review of those who approved an earlier commit, also where no rule asks for one', async () => {
    const project = await done([1], { verify: armed.verify });
    commit(project, 'main', { other: 'new' });
    project.forge.rules.behind.add('ralph/issue-1');
    project.forge.saidOf.set('ralph/issue-1', { approvedBy: ['ann'] });
    project.clock.advance(HOUR);
    const later = { ...project, inputs: { ...project.inputs, ...armed } };
    expect(await next(later)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
    expect(bodyOf(project, 101)).toContain('Auto-merge of #101 is off: its commits are newer than what people decided');
    project.forge.rules.behind.clear();
    await next(later);
    expect(arms(project)).toEqual([]);
    project.forge.saidOf.set('ralph/issue-1', { decision: 'approved' });
    await next(later);
    expect(arms(project)).toEqual(['armed ralph/issue-1']);
  });

  test('is armed again for the head that has got its base, once the run has switched it off for that', async () => {
    const project = await done([1], armed);
    commit(project, 'main', { other: 'new' });
    project.forge.rules.behind.add('ralph/issue-1');
    project.clock.advance(HOUR);
    expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
    expect(project.forge.writes).toContain('freed #101: no ready, no auto-merge');
    expect(arms(project)).toEqual(['armed ralph/issue-1', 'armed ralph/issue-1']);
  });

  test('is switched off once a person commits on top, with a word on the page', async () => {
    const project = await done([1], armed);
    commit(project, 'ralph/issue-1', { mine: 'x' });
    await next(project);
    expect(project.forge.writes).toContain('disarmed ralph/issue-1');
    expect(arms(project)).toEqual(['armed ralph/issue-1']);
    expect(bodyOf(project, 101)).toContain("Auto-merge of #101 is off: its newest commit is a person's.");
  });

  test('stays on where a person has switched it on, whoever commits on top', async () => {
    const project = await done([1], { ...armed, 'auto-merge': 'false' });
    project.forge.saidOf.set('ralph/issue-1', { autoMerge: true });
    commit(project, 'ralph/issue-1', { mine: 'x' });
    await next({ ...project, inputs: { ...project.inputs, ...armed } });
    expect(arms(project)).toEqual([]);
    expect(bodyOf(project, 101)).toContain('Auto-merge of #101 is on');
  });

  test('that cannot be switched off is named on the page', async () => {
    const project = await done([1], armed);
    commit(project, 'ralph/issue-1', { mine: 'x' });
    project.forge.faults.set('disarmAutoMerge', new UserError('configuration', 'It may not.'));
    await next(project);
    expect(bodyOf(project, 101)).toContain('GitHub refused to switch it off: It may not.');
  });

  test('is armed by a run that finds it on for what is complete already', async () => {
    const project = await done([1], { ...armed, 'auto-merge': 'false' });
    await next({ ...project, inputs: { ...project.inputs, ...armed } });
    expect(arms(project)).toEqual(['armed ralph/issue-1']);
  });

  test.each(['at-once', 'not-allowed', 'switched-off'] as const)(
    'that is not armed (%s) is explained on the page',
    async (answer) => {
      const project = createProject({ issues: [1], agent: [worker], inputs: armed });
      project.forge.rules.arms = answer;
      expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ end: 'complete (plan_complete)' });
      expect(bodyOf(project, 101)).toContain('Auto-merge of #101 is off');
      expect(project.forge.pulls[0]?.state).toBe('open');
    },
  );
});
