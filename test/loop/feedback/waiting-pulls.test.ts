import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import type { Behaviour } from '../stage/behaviours.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import { addCommit } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import {
  addIssue,
  commented,
  createProject,
  labeled,
  runOnce,
  schedule,
  senderOf,
  storedBudget,
  warningsIn,
  type Event,
} from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';
import { killAt } from '../stage/tap.ts';
import { HOUR, next, notices, worker } from './reviewing.ts';
import { failing } from './said.ts';

const FIRST = 'ralph/issue-1';
const SECOND = 'ralph/issue-2';

/** Resolves conflicts, and does every other task. */
const resolver: Behaviour = (call) => {
  if (call.task !== 'conflict-base') return worker(call);
  const marked = Object.keys(call.files).filter((path) => (call.files[path] ?? '').includes('<<<<<<<'));
  return {
    writes: Object.fromEntries(marked.map((path) => [path, 'both'])),
    output: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1, summary: 'Both stay.' } },
  };
};

/** Makes no progress. */
const lost: Behaviour = () => ({ output: { signal: { status: 'IN_PROGRESS', exitSignal: false, tasksCompleted: 0 } } });

/** Creates two issues that are done on their own branches, each with a pull request. */
async function twoDone(agent: Behaviour = resolver, inputs: Readonly<Record<string, string>> = {}): Promise<Project> {
  const project = createProject({
    issues: [1, 2],
    agent: [(call) => (/^issue-[12]$/.test(call.task) ? worker : agent)(call)],
    inputs,
  });
  for (const issue of [1, 2])
    expect(await runOnce(project, { event: labeled(issue) })).toMatchObject({ end: 'complete (plan_complete)' });
  return project;
}

/** Merges the first pull request, which brings a conflict with the second into the base branch. */
function mergeFirst({ forge, origin }: Project): Event {
  const { branches, commits } = origin;
  const parent = branches.get(FIRST) ?? '';
  const tree = { ...commits.get(parent)?.tree, 'src/issue-2.ts': 'theirs' };
  branches.set('main', addCommit(origin, { tree, parent, message: 'Merge' }));
  const pull = forge.pulls[0] ?? expect.fail();
  forge.pulls[0] = { ...pull, state: 'merged', headSha: parent };
  const issue = forge.issues.get(1) ?? expect.fail();
  forge.issues.set(1, { ...issue, state: 'closed' });
  forge.saidOf.set(SECOND, { mergeable: 'conflicting' });
  return eventOfMerge(parent);
}

function eventOfMerge(sha: string): Event {
  const repo = { full_name: 'acme/shop' };
  return {
    name: 'pull_request',
    payload: {
      action: 'closed',
      pull_request: {
        ...{ number: 101, merged: true, state: 'closed' },
        ...{ head: { ref: FIRST, sha, repo }, base: { repo } },
      },
      sender: senderOf('ann'),
    },
  };
}

/** Merges the first pull request, and returns the event. */
function mergedEvent({ forge, origin }: Project): Event {
  const head = origin.branches.get(FIRST) ?? '';
  const pull = forge.pulls[0] ?? expect.fail();
  forge.pulls[0] = { ...pull, state: 'merged', headSha: head };
  return eventOfMerge(head);
}

/** Creates issues that are done on their own branches, of which these conflict with the base branch. */
async function conflicting(issues: readonly number[], merging: Behaviour = resolver): Promise<Project> {
  const all = [1, ...issues];
  const agent: Behaviour = (call) => (/^issue-\d+$/.test(call.task) ? worker : merging)(call);
  const project = createProject({ issues: all, agent: [agent], inputs: { 'max-open-prs': '0' } });
  for (const issue of all) await runOnce(project, { event: labeled(issue) });
  for (const issue of issues) {
    changeMain(project, { [`src/issue-${String(issue)}.ts`]: 'theirs' });
    project.forge.saidOf.set(`ralph/issue-${String(issue)}`, { mergeable: 'conflicting' });
  }
  return project;
}

function changeMain({ origin }: Project, files: Readonly<Record<string, string>>): void {
  const { branches, commits } = origin;
  const parent = branches.get('main') ?? '';
  branches.set('main', addCommit(origin, { tree: { ...commits.get(parent)?.tree, ...files }, parent, message: 'x' }));
}

function contentOf({ origin }: Project, branch: string): string | undefined {
  return origin.commits.get(origin.branches.get(branch) ?? '')?.tree['src/issue-2.ts'];
}

describe("another branch's pull request that conflicts after a merge", () => {
  test('is merged by the run of that merge with one call, behind the end of the merged branch', async () => {
    const project = await twoDone();
    const run = await next(project, mergeFirst(project));
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    const page = renderSummary(run.report ?? expect.fail());
    expect(page).toContain(
      'Pull request #​101 was merged. Done on its branch: #​1. The branch ralph/issue-1 was deleted.',
    );
    expect(contentOf(project, SECOND)).toBe('both');
    expect(project.forge.pulls[1]?.body).toContain('✅ [Merge main and resolve the conflicts]');
    expect(project.origin.branches.has(FIRST)).toBe(false);
    project.forge.saidOf.delete(SECOND);
    expect(await next(project)).toMatchObject({ calls: 0 });
  });

  test('is merged by the run of that merge in three jobs', async () => {
    const project = await twoDone();
    await runSplit(project, { event: mergeFirst(project) });
    expect(contentOf(project, SECOND)).toBe('both');
    expect(project.origin.branches.has(FIRST)).toBe(false);
  });

  test('is merged by the run of that merge if it is the queue that conflicts', async () => {
    const project = await twoDone();
    addIssue(project.forge, 3);
    expect((await next(project)).work?.lane.id).toBe('queue');
    const event = mergeFirst(project);
    const { branches, commits } = project.origin;
    const parent = branches.get('main') ?? '';
    const tree = { ...commits.get(parent)?.tree, 'src/issue-3.ts': 'theirs' };
    branches.set('main', addCommit(project.origin, { tree, parent, message: 'Merge' }));
    project.forge.saidOf.delete(SECOND);
    project.forge.saidOf.set('ralph/queue', { mergeable: 'conflicting' });
    const run = await next(project, event);
    expect(run).toMatchObject({ calls: 1 });
    expect(run.work?.lane.id).toBe('queue');
  });

  test('does not start new tasks of the queue if no pull request needs work', async () => {
    const project = await twoDone();
    const event = mergeFirst(project);
    project.forge.saidOf.delete(SECOND);
    addIssue(project.forge, 3);
    const run = await next(project, event);
    expect(run).toMatchObject({
      end: 'idle (updated)',
      calls: 0,
      outcome: { message: expect.stringContaining('Pull request #101 was merged.') },
    });
  });

  test('and needs a person who could not be notified: the run of a merge notifies, and settles the merged one', async () => {
    const project = await twoDone(lost);
    const { branches, commits } = project.origin;
    const parent = branches.get('main') ?? '';
    const tree = { ...commits.get(parent)?.tree, 'src/issue-2.ts': 'theirs' };
    branches.set('main', addCommit(project.origin, { tree, parent, message: 'x' }));
    project.forge.saidOf.set(SECOND, { mergeable: 'conflicting' });
    project.forge.faults.set('upsertComment', new UserError('infrastructure', 'GitHub answers 502.'));
    for (let run = 0; run < 2; run += 1) expect(await next(project)).toMatchObject({ end: 'halted (circuit_open)' });
    const isOfCircuit = (text: string): boolean => text.includes('circuit_open:lane-issue-2');
    expect(notices(project).filter(isOfCircuit)).toEqual([]);
    project.forge.faults.clear();
    const run = await runOnce(project, { event: mergeFirst(project) });
    expect(run).toMatchObject({ end: 'halted (circuit_open)', calls: 0 });
    expect(notices(project).filter(isOfCircuit)).toHaveLength(1);
    expect(notices(project).filter((text) => text.includes('ready:lane-issue-1'))).toEqual([]);
    expect(project.origin.branches.has(FIRST)).toBe(false);
  });

  test('does not keep the notification about the merged one from being settled', async () => {
    const project = await twoDone();
    const open = (): readonly string[] => [
      ...(project.forge.notifications.get(101) ?? new Map<string, string>()).keys(),
    ];
    expect(open()).toHaveLength(1);
    expect(await next(project, mergeFirst(project))).toMatchObject({ calls: 1 });
    expect(open().filter((marker) => !marker.includes('settled'))).toEqual([]);
  });

  test.each([
    ['pullRequestOf', new UserError('infrastructure', 'GitHub answers 502.')],
    ['pullRequestOf', new TypeError('GitHub answers nonsense.')],
    ['waitingPullRequests', new UserError('infrastructure', 'GitHub answers 502.')],
    ['waitingPullRequests', new TypeError('GitHub answers nonsense.')],
  ] as const)('leaves the end of the merged one as it is if %s fails with %s, with a warning', async (read, error) => {
    const project = await twoDone();
    const event = mergeFirst(project);
    project.forge.faults.set(read, error);
    const run = await next(project, event);
    expect(run).toMatchObject({ end: 'idle (updated)', calls: 0 });
    expect(project.origin.branches.has(FIRST)).toBe(false);
    expect([...(project.forge.notifications.get(101)?.keys() ?? [])].filter((one) => !one.includes('settled'))).toEqual(
      [],
    );
    expect(storedBudget(project).reservations).toEqual([]);
    expect(warningsIn(run).join('\n')).toContain(error.message);
  });

  test('and that of a third one: each run merges one of them', async () => {
    const project = await twoDone();
    addIssue(project.forge, 3);
    expect(await runOnce(project, { event: labeled(3) })).toMatchObject({ end: 'complete (plan_complete)' });
    mergeFirst(project);
    const { branches, commits } = project.origin;
    const parent = branches.get('main') ?? '';
    const tree = { ...commits.get(parent)?.tree, 'src/issue-3.ts': 'theirs' };
    branches.set('main', addCommit(project.origin, { tree, parent, message: 'Merge' }));
    const third = 'ralph/issue-3';
    project.forge.saidOf.set(third, { mergeable: 'conflicting' });
    for (const branch of [SECOND, third]) {
      const run = await next(project);
      expect(run).toMatchObject({ calls: 1 });
      expect(run.work?.lane.branch).toBe(branch);
      project.forge.saidOf.delete(branch);
    }
    expect(await next(project)).toMatchObject({ calls: 0 });
  });

  test('is merged although three others conflict on branches that a person paused', async () => {
    const project = await conflicting([2, 3, 4, 5]);
    for (const issue of [2, 3, 4]) await next(project, commented('/ralph pause', { issue }));
    expect(await next(project)).toMatchObject({ calls: 0 });
    const run = await next(project);
    expect(run).toMatchObject({ calls: 1 });
    expect(run.work?.lane.id).toBe('issue-5');
  });

  test('leaves the others to later runs, which its page names: each takes up the next one', async () => {
    const project = await conflicting([2, 3, 4]);
    const run = await next(project, mergedEvent(project));
    expect(run).toMatchObject({ calls: 1 });
    const page = renderSummary(run.report ?? expect.fail());
    for (const number of [103, 104])
      expect(page).toMatch(
        new RegExp(
          `#${String(number)}: it conflicts with its base branch, which one of the next runs of the queue`,
          'u',
        ),
      );
    const lanes = [run.work?.lane.id];
    for (const issue of [2, 3]) {
      project.forge.saidOf.delete(`ralph/issue-${String(issue)}`);
      // A label between the runs gets its own issue, and does not push the others back.
      addIssue(project.forge, issue + 10);
      expect((await next(project, labeled(issue + 10))).work?.lane.id).toBe(`issue-${String(issue + 10)}`);
      lanes.push((await next(project)).work?.lane.id);
    }
    expect(lanes).toEqual(['issue-2', 'issue-3', 'issue-4']);
  });

  test.each<[string, (project: Project) => void]>([
    ['issues are gone', ({ forge }) => [2, 3, 4].forEach((issue) => forge.issues.delete(issue))],
    [
      'issues cannot be read',
      ({ forge }) => {
        const { issue } = forge;
        // The list has no such issue, so each is asked for.
        for (const number of [2, 3, 4]) addIssue(forge, number, { labels: [] });
        forge.issue = (number) =>
          number < 5 ? Promise.reject(new UserError('infrastructure', 'GitHub answers 502.')) : issue(number);
      },
    ],
    [
      'reviews hold them',
      ({ forge }) => {
        for (const issue of [2, 3, 4])
          forge.saidOf.set(`ralph/issue-${String(issue)}`, { mergeable: 'conflicting', approvedBy: ['ann'] });
        forge.faults.set('withdrawFromMerging', new UserError('configuration', 'GitHub refuses a draft.'));
      },
    ],
  ])('is merged although three others conflict whose %s', async (_, prepare) => {
    const project = await conflicting([2, 3, 4, 5]);
    prepare(project);
    const lanes: unknown[] = [];
    for (let run = 0; run < 5 && !lanes.includes('issue-5'); run += 1) lanes.push((await next(project)).work?.lane.id);
    expect(lanes).toContain('issue-5');
  });

  test('that a temporary error keeps from being worked on is a warning of a scheduled run without other work', async () => {
    const project = await conflicting([2]);
    project.forge.issue = () => Promise.reject(new UserError('infrastructure', 'GitHub answers 502.'));
    project.forge.issues.set(2, { ...(project.forge.issues.get(2) ?? expect.fail()), labels: [] });
    const run = await next(project);
    expect(run).toMatchObject({ end: 'idle (no_tasks)', calls: 0 });
    expect(warningsIn(run).join('\n')).toContain(
      'The pull request of issue #2 needs work and was not worked on: GitHub answers 502.',
    );
  });

  test('is merged after each of many merges, because each makes another conflict, and nobody is notified', async () => {
    const project = await conflicting([2], (call) => {
      const act = resolver(call);
      const paths = Object.keys(act.writes ?? {});
      return { ...act, writes: Object.fromEntries(paths.map((path) => [path, `both ${String(call.turn)}`])) };
    });
    const open = notices(project);
    for (let merge = 0; merge < 5; merge += 1) {
      expect([merge, await next(project)]).toMatchObject([merge, { end: 'complete (plan_complete)', calls: 1 }]);
      changeMain(project, { 'src/issue-2.ts': `theirs ${String(merge)}` });
    }
    expect(notices(project)).toEqual(open);
  });

  test('costs one call on a base that is red since the merge, whatever the number of pull requests, until it is repaired', async () => {
    const project = await conflicting([2, 3, 4]);
    project.inputs = { ...project.inputs, verify: 'npm test' };
    let isRed = true;
    const failed = { kind: 'failed', command: 'npm test', code: 1, tail: '✖ adds', durationMs: 1 } as const;
    project.verifier = { verify: () => Promise.resolve(isRed ? failed : { kind: 'passed', durationMs: 1 }) };
    expect(await next(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 1 });
    for (let run = 0; run < 3; run += 1) expect(await next(project)).toMatchObject({ calls: 0 });
    expect(notices(project).filter((text) => text.includes('base_is_red'))).toHaveLength(1);
    changeMain(project, { 'fix.ts': 'x' });
    isRed = false;
    const lanes: unknown[] = [];
    for (let run = 0; run < 3; run += 1) {
      const { work } = await next(project);
      lanes.push(work?.lane.id);
      project.forge.saidOf.delete(work?.lane.branch ?? '');
    }
    expect(lanes.toSorted()).toEqual(['issue-2', 'issue-3', 'issue-4']);
  });

  test('is merged by the run that a person starts with a command, if the queue has nothing to do', async () => {
    const project = await conflicting([2]);
    const event = { name: 'workflow_dispatch', payload: { inputs: { command: 'run' }, sender: senderOf('ann') } };
    const run = await next(project, event);
    expect(run).toMatchObject({ calls: 1 });
    expect(run.work?.lane.id).toBe('issue-2');
  });

  test('comes before new tasks of the queue, which the run behind it takes', async () => {
    const project = await twoDone();
    mergeFirst(project);
    addIssue(project.forge, 3);
    const run = await next(project);
    expect(run.work?.lane.id).toBe('issue-2');
    project.forge.saidOf.delete(SECOND);
    expect((await next(project)).work?.lane.id).toBe('queue');
  });

  test('does not come before a task that a person names to the queue', async () => {
    const project = await twoDone();
    addIssue(project.forge, 3);
    expect((await next(project)).work?.lane.id).toBe('queue');
    mergeFirst(project);
    addIssue(project.forge, 4);
    const run = await next(project, commented('/ralph run', { issue: 103, isPullRequest: true }));
    expect(run.work?.lane.id).toBe('queue');
  });

  test.each([
    ['in a run of three jobs', (project: Project) => runSplit(project, { event: schedule })],
    [
      'by the run behind one that died',
      async (project: Project) => {
        await runOnce(project, { event: schedule, tap: killAt((name) => name === 'agent.call', 'before') });
        project.clock.advance(2 * HOUR);
        await next(project);
      },
    ],
  ])('is merged %s', async (_, run) => {
    const project = await twoDone();
    mergeFirst(project);
    project.clock.advance(HOUR);
    await run(project);
    expect(contentOf(project, SECOND)).toBe('both');
  });

  test.each([
    ['whose issue is closed', { state: 'closed' } as const],
    ['whose issue lost its label', { labels: [] }],
  ])('is merged as well if it is done, %s', async (_, change) => {
    const project = await twoDone();
    mergeFirst(project);
    project.forge.issues.set(2, { ...(project.forge.issues.get(2) ?? expect.fail()), ...change });
    expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(contentOf(project, SECOND)).toBe('both');
  });

  test('rests if its issue was closed before it was done, which counts as a no', async () => {
    const half: Behaviour = ({ task }) => ({
      writes: { [`src/${task}.ts`]: 'half' },
      output: { signal: { status: 'IN_PROGRESS', exitSignal: false, tasksCompleted: 0 } },
    });
    const project = createProject({ issues: [2], agent: [half], inputs: { 'max-iterations': '1' } });
    expect(await runOnce(project, { event: labeled(2) })).toMatchObject({ end: 'limit (iterations)' });
    project.forge.issues.set(2, { ...(project.forge.issues.get(2) ?? expect.fail()), state: 'closed' });
    project.forge.saidOf.set(SECOND, { mergeable: 'conflicting' });
    expect(await next(project)).toMatchObject({ calls: 0 });
  });

  test('is freed first if it is approved and armed, and ends ready', async () => {
    const project = await twoDone();
    mergeFirst(project);
    project.forge.saidOf.set(SECOND, { mergeable: 'conflicting', approvedBy: ['ann'], autoMerge: true });
    expect(await next(project)).toMatchObject({ calls: 1 });
    expect(project.forge.writes).toContain('freed #102: no ready, no auto-merge');
    expect(project.forge.writes).toContain('review of #102 by ann');
    expect(project.forge.pulls[1]?.draft).toBe(false);
  });

  test('is left to people with `answer-checks: false`, without a request', async () => {
    const project = await twoDone(resolver, { 'answer-checks': 'false' });
    mergeFirst(project);
    expect(await next(project)).toMatchObject({ calls: 0 });
  });
});

describe("a failed check on another branch's pull request", () => {
  const failed = { checks: { kind: 'known' as const, head: [failing()], base: [] } };

  test('is worked on by the schedule', async () => {
    const project = await twoDone();
    project.forge.saidOf.set(SECOND, failed);
    const run = await next(project);
    expect(run).toMatchObject({ calls: 1 });
    expect(run.work?.lane.id).toBe('issue-2');
  });

  test('that fails on the base as well is examined once, and not by every run', async () => {
    const project = await twoDone();
    project.forge.saidOf.set(SECOND, { checks: { kind: 'known', head: [failing()], base: [failing()] } });
    const requests: number[] = [];
    for (let run = 0; run < 3; run += 1) {
      const { sent } = project.forge.requests();
      expect(await next(project)).toMatchObject({ calls: 0 });
      requests.push(project.forge.requests().sent - sent);
    }
    expect(requests[1]).toBeLessThan(requests[0] ?? 0);
    expect(requests[2]).toBe(requests[1]);
  });

  test('that no round fixes is bounded, notified of once, and does not stop the queue', async () => {
    const project = await twoDone(lost);
    project.forge.saidOf.set(SECOND, failed);
    expect((await next(project)).work?.lane.id).toBe('issue-2');
    addIssue(project.forge, 3);
    project.script.behaviours = [worker];
    expect((await next(project)).work?.lane.id).toBe('queue');
    project.clock.advance(6 * HOUR);
    expect((await next(project)).work?.lane.id).toBe('issue-2');
    expect(notices(project).filter((text) => text.includes('check-')).length).toBeLessThanOrEqual(1);
  });
});

describe('a list of pull requests that cannot be read', () => {
  test('is a warning, and the queue is worked on', async () => {
    const project = await twoDone();
    addIssue(project.forge, 3);
    project.forge.faults.set('waitingPullRequests', new UserError('infrastructure', 'GitHub answers 502.'));
    const run = await next(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(warningsIn(run).join('\n')).toContain('The open pull requests could not be read: GitHub answers 502.');
  });

  test('does not stop the merge of another one', async () => {
    const project = await twoDone();
    const merged = mergeFirst(project);
    project.forge.faults.set('waitingPullRequests', new UserError('infrastructure', 'GitHub answers 502.'));
    expect(await next(project, merged)).toMatchObject({ end: 'idle (updated)', calls: 0 });
  });
});

test('unreadable feedback on a pull request that nobody asked about is a warning', async () => {
  const project = createProject({ agent: [worker] });
  await runOnce(project);
  addIssue(project.forge, 2);
  project.forge.faults.set('pullRequestNow', new UserError('infrastructure', 'GitHub answers 502.'));
  const run = await next(project);
  expect(run).toMatchObject({ calls: 1 });
  expect(warningsIn(run).join('\n')).toContain('could not be read, so this run does not answer them');
});
