import { describe, expect, test } from 'vitest';
import { finisher } from '../stage/behaviours.ts';
import type { Project } from '../stage/project.ts';
import { commented, createProject, labeled, runOnce, savedState, senderOf, type Event } from '../stage/run-action.ts';

const begun = async (): Promise<Project> => {
  const project = createProject({ issues: [1], agent: [finisher] });
  await runOnce(project, { event: labeled(1) });
  project.clock.advance(60_000);
  return project;
};
const pullOf = ({ forge }: Project): object => {
  const pull = forge.pulls.at(-1);
  const repo = { full_name: 'acme/shop' };
  return {
    number: pull?.number,
    state: 'open',
    head: { ref: pull?.branch, sha: pull?.headSha.padEnd(40, '0'), repo },
    base: { repo },
  };
};
const inThread = (project: Project, body: string, login = 'ann'): Event => ({
  name: 'pull_request_review_comment',
  payload: { action: 'created', comment: { id: 77, body }, pull_request: pullOf(project), sender: senderOf(login) },
});
const inReview = (project: Project, body: string, login = 'ann'): Event => ({
  name: 'pull_request_review',
  payload: {
    action: 'submitted',
    review: { state: 'commented', body },
    pull_request: pullOf(project),
    sender: senderOf(login),
  },
});

describe('a command in a review', () => {
  test.each([
    ['thread', inThread],
    ["review's own text", inReview],
  ])('in a %s: status is answered on the pull request, without a call', async (_where, event) => {
    const project = await begun();
    const run = await runOnce(project, { event: event(project, '/ralph status') });
    expect(run).toMatchObject({ end: 'idle (answered)', calls: 0 });
    const number = project.forge.pulls[0]?.number ?? 0;
    expect(
      project.forge.writes.filter((write) => write.includes(`comment on #${String(number)}`)).length,
    ).toBeGreaterThan(0);
    expect([...(project.forge.comments.get(number)?.values() ?? [])].join()).toContain('ralph-action:answer');
  });

  test.each([
    ['thread', inThread],
    ["review's own text", inReview],
  ])('in a %s: an order is obeyed, but only from a person with write access', async (_where, event) => {
    const project = await begun();
    expect(await runOnce(project, { event: event(project, '/ralph pause', 'eve') })).toMatchObject({
      end: 'refused (not_allowed)',
    });
    await runOnce(project, { event: event(project, '/ralph pause') });
    expect(await runOnce(project, { event: commented('/ralph run', { issue: 1 }) })).toMatchObject({
      end: 'paused (by_person)',
    });
  });

  test('in a thread: acknowledged there', async () => {
    const project = await begun();
    await runOnce(project, { event: inThread(project, '/ralph status') });
    expect(project.forge.writes).toContain('eyes on comment 77');
  });
});

describe('/ralph run on the pull request of a finished issue', () => {
  test('makes no call, and the answer says what to do', async () => {
    const project = await begun();
    const number = project.forge.pulls[0]?.number ?? 0;
    const run = await runOnce(project, { event: commented('/ralph run', { issue: number, isPullRequest: true }) });
    expect(run.calls).toBe(0);
    expect([...(project.forge.comments.get(number)?.values() ?? [])].join()).toMatch(/Merge the pull request|merge it/);
    expect(savedState(project, 'issue-1').tasks['issue-1']?.state).toBe('done');
  });

  test('on the issue itself works on it again', async () => {
    const project = await begun();
    expect((await runOnce(project, { event: commented('/ralph run', { issue: 1 }) })).calls).toBe(1);
  });
});
