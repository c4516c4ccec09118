import { describe, expect, test } from 'vitest';
import { finisher, steadyWorker } from '../stage/behaviours.ts';
import { addIssue, createProject, runOnce, senderOf, type Event } from '../stage/river.ts';

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
const failed = (branch: string): Event => ({
  name: 'status',
  payload: { state: 'failure', sha: COMMIT, branches: [{ name: branch }] },
});

describe('what people and CI say of a pull request starts its lane', () => {
  test.each([
    ['a review', reviewed('ralph/queue')],
    ['a failed check', failed('ralph/queue')],
  ])('%s of the queue: the queue is worked', async (_name, event) => {
    const project = createProject({ issues: [1], agent: [finisher] });
    const run = await runOnce(project, { event });
    expect(run.work?.lane).toMatchObject({ id: 'queue', branch: 'ralph/queue' });
    expect(run.calls).toBeGreaterThan(0);
  });

  test("a failed check of an issue's branch: that issue alone is worked", async () => {
    const project = createProject({ issues: [1, 7], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    const run = await runOnce(project, { event: failed('ralph/issue-7') });
    expect(run.work?.lane.id).toBe('issue-7');
    expect(run.work?.tasks.map(({ id }) => id)).toEqual(['issue-7']);
  });

  test.each<[string, 'open' | 'closed', readonly string[]]>([
    ['is closed', 'closed', ['ralph']],
    ['does not have the label', 'open', ['bug']],
  ])('an issue that %s: nothing is worked', async (why, state, labels) => {
    const project = createProject({ issues: [1] });
    addIssue(project.forge, 7, { state, labels });
    const run = await runOnce(project, { event: reviewed('ralph/issue-7') });
    expect(run).toMatchObject({ end: 'idle (updated)', calls: 0, outcome: { message: expect.stringContaining(why) } });
  });

  test.each(['mallory', 'review[bot]'])('a review by %s, who may not write, changes nothing', async (login) => {
    const project = createProject({ issues: [1] });
    project.forge.permissions.set(login, 'read');
    const before = [...project.forge.writes];
    const run = await runOnce(project, { event: reviewed('ralph/queue', login) });
    expect(run).toMatchObject({ end: 'idle (not_for_us)', calls: 0 });
    expect(project.forge.writes).toEqual(before);
    expect(run.log.join('\n')).toContain(`${login} does not have write permission`);
  });

  test("a branch that is neither the queue's nor an issue's: nothing is worked", async () => {
    const project = createProject({ issues: [1] });
    expect(await runOnce(project, { event: reviewed('ralph/mine') })).toMatchObject({
      end: 'idle (updated)',
      calls: 0,
    });
  });
});
