import { describe, expect, test } from 'vitest';
import type { Permission } from '../../../src/ports/forge.ts';
import { finisher } from '../../loop/stage/behaviours.ts';
import {
  addIssue,
  commented,
  createProject,
  labeled,
  runOnce,
  type Event,
  type Run,
  warningsIn,
} from '../../loop/stage/run-action.ts';
import type { Project } from '../../loop/stage/project.ts';

const status = (project: Project, thread: number) =>
  [...(project.forge.comments.get(thread)?.values() ?? [])].join('\n');
const taskIds = (run: Run) => run.work?.journal.map(({ taskId }) => taskId);

describe('permission to ask', () => {
  test.each<[Permission, string]>([
    ['admin', 'complete (plan_complete)'],
    ['maintain', 'complete (plan_complete)'],
    ['write', 'complete (plan_complete)'],
    ['triage', 'refused (not_allowed)'],
    ['read', 'refused (not_allowed)'],
    ['none', 'refused (not_allowed)'],
  ])('%s, by label and by comment: %s', async (permission, end) => {
    for (const event of [labeled(1, 'bob'), commented('/ralph run', { issue: 1, login: 'bob' })]) {
      const project = createProject({ agent: [finisher] });
      project.forge.permissions.set('bob', permission);
      expect((await runOnce(project, { event })).end).toBe(end);
    }
  });

  test('a stranger with a command gets one reaction and no comment; nothing is written for a label', async () => {
    const project = createProject();
    await runOnce(project, { event: commented('/ralph run', { issue: 1, login: 'eve' }) });
    expect(project.forge.writes).toEqual(['-1 on comment 7']);
    await runOnce(project, { event: labeled(1, 'eve') });
    expect(project.forge.writes).toEqual(['-1 on comment 7']);
  });
});

describe('events that are not for us', () => {
  test.each<[string, Event]>([
    ['another label', labeled(1, 'ann', 'bug')],
    ['a comment that is not a command', commented('Nice!', { issue: 1 })],
  ])('%s: idle, without one request', async (_name, event) => {
    const project = createProject();
    expect((await runOnce(project, { event })).end).toBe('idle (not_for_us)');
    expect(project.forge.requests().sent).toBe(0);
  });

  test('an unsupported event is an error, without one request', async () => {
    const project = createProject();
    expect((await runOnce(project, { event: { name: 'release', payload: {} } })).outcome).toMatchObject({
      kind: 'failed',
      reason: 'configuration',
      message: expect.stringContaining('The event "release" is not supported.') as string,
    });
    expect(project.forge.requests().sent).toBe(0);
  });
});

describe('the queue', () => {
  test.each([
    ['without issues', createProject({ issues: [] })],
    [
      'with closed ones only',
      (() => {
        const project = createProject({ issues: [] });
        addIssue(project.forge, 1, { state: 'closed' });
        return project;
      })(),
    ],
    [
      'with unlabelled ones only',
      (() => {
        const project = createProject({ issues: [] });
        addIssue(project.forge, 1, { labels: ['bug'] });
        return project;
      })(),
    ],
  ])('%s is idle', async (_name, project) => {
    expect((await runOnce(project)).end).toBe('idle (no_tasks)');
    expect(project.forge.writes).toEqual([]);
  });

  test('works in the order of priority, then number', async () => {
    const project = createProject({ issues: [2, 1], agent: [finisher] });
    addIssue(project.forge, 9, { labels: ['ralph', 'P0'] });
    addIssue(project.forge, 0, { labels: ['ralph', 'P3'] });
    expect(taskIds(await runOnce(project))).toEqual(['issue-9', 'issue-1', 'issue-2', 'issue-0']);
  });

  test('leaves out an issue that has a lane of its own', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    await runOnce(project, { event: labeled(2) });
    expect(taskIds(await runOnce(project))).toEqual(['issue-1']);
    expect([...project.origin.branches.keys()]).toEqual(['main', 'ralph/issue-2', 'ralph/queue']);
  });

  test('is idle when every issue has a lane of its own', async () => {
    const project = createProject({ issues: [2], agent: [finisher] });
    await runOnce(project, { event: labeled(2) });
    const run = await runOnce(project);
    expect(run.end).toBe('idle (no_tasks)');
    expect(warningsIn(run)).toEqual([expect.stringContaining('the queue does not work on them: #2.')]);
  });

  test('that is done is idle until there is a new issue', async () => {
    const project = createProject({ agent: [finisher] });
    await runOnce(project);
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
    addIssue(project.forge, 2);
    expect(taskIds(await runOnce(project))).toEqual(['issue-2']);
  });
});

describe('a named issue', () => {
  test.each([
    ['closed', { state: 'closed' } as const, 'This issue is closed'],
    ['without the label', { labels: ['bug'] }, 'does not have the label'],
  ])('that is %s is answered and not worked', async (_name, change, answer) => {
    const project = createProject({ issues: [] });
    addIssue(project.forge, 1, change);
    expect((await runOnce(project, { event: commented('/ralph run', { issue: 1 }) })).end).toBe('idle (answered)');
    expect(status(project, 1)).toContain(answer);
  });

  test('that no longer exists is idle', async () => {
    expect((await runOnce(createProject({ issues: [] }), { event: labeled(1) })).end).toBe('idle (no_tasks)');
  });

  test('is worked on its own lane, and its pull request closes it', async () => {
    const project = createProject({ agent: [finisher] });
    expect((await runOnce(project, { event: labeled(1) })).work?.lane).toMatchObject({
      id: 'issue-1',
      branch: 'ralph/issue-1',
      baseBranch: 'main',
    });
    expect(project.forge.pulls[0]?.body).toContain('Closes #1');
  });

  test('that is done begins again when a person asks for it by name', async () => {
    const project = createProject({ agent: [finisher] });
    await runOnce(project, { event: labeled(1) });
    expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });
});

describe('commands', () => {
  test('are acknowledged at once and answered in the one status comment', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    expect((await runOnce(project, { event: commented('/ralph status', { issue: 1 }) })).end).toBe('idle (answered)');
    expect(project.forge.writes).toEqual(['eyes on comment 7', 'comment on #1']);
    expect(status(project, 1)).toContain('0 of 2 tasks done');
  });

  test('status on an issue with a lane of its own reports that lane', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    await runOnce(project, { event: labeled(1) });
    await runOnce(project, { event: commented('/ralph status', { issue: 1 }) });
    expect(status(project, 1)).toContain('1 of 1 task done');
    await runOnce(project, { event: commented('/ralph status', { issue: 2 }) });
    expect(status(project, 2)).toContain('0 of 1 task done');
  });

  test('status on the pull request of the queue reports all its tasks', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    await runOnce(project, { event: commented('/ralph status', { issue: 101, isPullRequest: true }) });
    expect(status(project, 101)).toContain('1 of 2 tasks done');
  });

  test('an unknown one gets the help and the nearest match', async () => {
    const project = createProject();
    await runOnce(project, { event: commented('/ralph statsu', { issue: 1 }) });
    expect(status(project, 1)).toContain('Did you mean `/ralph status`?');
    expect(project.script.calls).toEqual([]);
  });

  const onPull = (body: string) => commented(body, { issue: 101, isPullRequest: true });
  test.each([
    ['ralph/queue', ['issue-1', 'issue-2']],
    ['ralph/issue-2', ['issue-2']],
  ])('run on the pull request of %s works that lane', async (branch, expected) => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    project.forge.pulls.push({
      number: 101,
      url: 'https://github.test/101',
      state: 'open',
      headSha: '',
      draft: true,
      body: '',
      title: '',
      labels: [],
      branch,
      fromFork: false,
      base: 'main',
    });
    expect(taskIds(await runOnce(project, { event: onPull('/ralph run') }))).toEqual(expected);
  });

  test.each([
    ['a fork', { branch: 'ralph/queue', fromFork: true }, 'comes from a fork'],
    ['a branch of somebody', { branch: 'feature', fromFork: false }, "is not one of Ralph's"],
    ['a branch that only looks like a lane', { branch: 'ralph/issue-2x', fromFork: false }, "is not one of Ralph's"],
  ])('on a pull request from %s are refused with the reason', async (_name, change, answer) => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    project.forge.pulls.push({
      number: 101,
      url: 'https://github.test/101',
      state: 'open',
      headSha: '',
      draft: true,
      body: '',
      title: '',
      labels: [],
      base: 'main',
      ...change,
    });
    expect(await runOnce(project, { event: onPull('/ralph run') })).toMatchObject({ end: 'idle (answered)', calls: 0 });
    expect(status(project, 101)).toContain(answer);
  });
});
