import { describe, expect, test } from 'vitest';
import type { CheckNow, ChecksNow } from '../../../src/core/feedback/pull-request-now.ts';
import { finisher } from '../stage/behaviours.ts';
import { addIssue, createProject, labeled, runOnce, senderOf, type Event } from '../stage/run-action.ts';
import type { Project } from '../stage/project.ts';
import { failing, review } from '../feedback/said.ts';

const COMMIT = 'a'.repeat(40);
const repo = { full_name: 'acme/shop' };
const reviewed = (branch: string, login = 'ann'): Event => ({
  name: 'pull_request_review',
  payload: {
    action: 'submitted',
    review: { state: 'commented', body: 'Please rename it.' },
    pull_request: { number: 9, state: 'open', head: { ref: branch, sha: COMMIT, repo }, base: { repo } },
    sender: senderOf(login),
  },
});
const failed = (branch: string, { origin }: Project): Event => ({
  name: 'status',
  payload: { state: 'failure', sha: origin.branches.get(branch), branches: [{ name: branch }] },
});
const asking = review({ text: 'Please rename it.' });
const known = (check: CheckNow): ChecksNow => ({ kind: 'known', head: [check], base: [] });

describe('feedback of people and CI on a pull request starts its lane', () => {
  test.each([
    ['a review', () => reviewed('ralph/queue'), { reviews: [asking] }, 'review-500'],
    [
      'a failed check',
      (on: Project) => failed('ralph/queue', on),
      { checks: known(failing()) },
      expect.stringMatching(/^check-/),
    ],
  ])('%s of the queue: the run answers it there', async (_name, eventOf, said, task) => {
    const project = createProject({ issues: [1], agent: [finisher] });
    await runOnce(project);
    project.forge.saidOf.set('ralph/queue', said);
    const run = await runOnce(project, { event: eventOf(project) });
    expect(run.work?.lane).toMatchObject({ id: 'queue', branch: 'ralph/queue' });
    expect(run.work?.tasks.map(({ id }) => id)).toEqual([task, 'issue-1']);
    expect(run.calls).toBe(1);
  });

  test("a failed check of an issue's branch: only that issue is worked on", async () => {
    const project = createProject({ issues: [1, 7], agent: [finisher] });
    await runOnce(project, { event: labeled(7) });
    project.forge.saidOf.set('ralph/issue-7', { checks: known(failing()) });
    const run = await runOnce(project, { event: failed('ralph/issue-7', project) });
    expect(run.work?.lane.id).toBe('issue-7');
    expect(run.work?.tasks.map(({ id }) => id)).toEqual([expect.stringMatching(/^check-/), 'issue-7']);
  });

  // With a person's token, Ralph's own comments are events by a person with write permission.
  test.each([
    ['an answer by Ralph', { reviews: [{ ...asking, text: '' }] }],
    ['an approval', { reviews: [{ ...asking, state: 'approved' as const }] }],
    ['a check that passes again', { checks: known(failing({ result: 'passed', conclusion: 'success' })) }],
  ])('with only %s as news, no task begins before its time', async (_name, said) => {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    project.forge.saidOf.set('ralph/queue', said);
    for (const event of [reviewed('ralph/queue'), failed('ralph/queue', project)]) {
      const run = await runOnce(project, { event });
      expect(run).toMatchObject({ end: 'idle (updated)', calls: 0, work: null });
    }
    expect(await runOnce(project)).toMatchObject({ calls: 1 });
  });

  test.each<[string, 'open' | 'closed', readonly string[]]>([
    ['is closed', 'closed', ['ralph']],
    ['does not have the label', 'open', ['bug']],
  ])('an issue that %s: no work', async (why, state, labels) => {
    const project = createProject({ issues: [1] });
    addIssue(project.forge, 7, { state, labels });
    const run = await runOnce(project, { event: reviewed('ralph/issue-7') });
    expect(run).toMatchObject({ end: 'idle (updated)', calls: 0, outcome: { message: expect.stringContaining(why) } });
  });

  test('a review of the queue is answered although no other work is left', async () => {
    const project = createProject({ issues: [1], agent: [finisher] });
    await runOnce(project);
    addIssue(project.forge, 1, { state: 'closed', labels: [] });
    project.forge.saidOf.set('ralph/queue', { reviews: [asking] });
    const run = await runOnce(project, { event: reviewed('ralph/queue') });
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(await runOnce(project, { event: reviewed('ralph/queue') })).toMatchObject({ calls: 0 });
  });

  test.each(['mallory', 'review[bot]'])('a review by %s, without write access, changes nothing', async (login) => {
    const project = createProject({ issues: [1] });
    project.forge.permissions.set(login, 'read');
    const before = [...project.forge.writes];
    const run = await runOnce(project, { event: reviewed('ralph/queue', login) });
    expect(run).toMatchObject({ end: 'idle (not_for_us)', calls: 0 });
    expect(project.forge.writes).toEqual(before);
    expect(run.log.join('\n')).toContain(`${login} does not have write permission`);
  });

  test('a branch of neither the queue nor an issue: no work', async () => {
    const project = createProject({ issues: [1] });
    expect(await runOnce(project, { event: reviewed('ralph/mine') })).toMatchObject({
      end: 'idle (updated)',
      calls: 0,
    });
  });
});
