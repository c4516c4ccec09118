import { describe, expect, test } from 'vitest';
import { UserError } from '../../src/errors.ts';
import { claimsBlocked, finisher, steadyWorker } from './stage/behaviours.ts';
import type { Project } from './stage/project.ts';
import {
  addIssue,
  changeState,
  commented,
  createProject,
  labeled,
  runOnce,
  savedState,
  schedule,
  senderOf,
  type Event,
  warningsIn,
} from './stage/run-action.ts';

const issueEvent = (
  action: string,
  number: number,
  labels: readonly string[] = ['ralph'],
  change: object = {},
): Event => ({
  name: 'issues',
  payload: {
    action,
    label: { name: 'ralph' },
    issue: { number, state: 'open', labels: labels.map((name) => ({ name })) },
    sender: senderOf('eve'),
    ...change,
  },
});
const pullClosed = (project: Project, merged: boolean): Event => {
  const pull = project.forge.pulls.at(-1);
  const repo = { full_name: 'acme/shop' };
  return {
    name: 'pull_request',
    payload: {
      action: 'closed',
      pull_request: {
        number: pull?.number,
        merged,
        head: { ref: pull?.branch, sha: pull?.headSha, repo },
        base: { repo },
      },
      sender: senderOf('ann'),
    },
  };
};
const messageOf = (run: Awaited<ReturnType<typeof runOnce>>): string =>
  run.outcome.reason === 'updated' ? run.outcome.message : '';
const updated = { end: 'idle (updated)', calls: 0 } as const;

describe('an issue stops being a task', () => {
  const withLabels = (labels: readonly string[], state: 'open' | 'closed'): Project => {
    const project = createProject({ issues: [2] });
    addIssue(project.forge, 1, { labels, state });
    return project;
  };

  test.each<[string, string, readonly string[], 'open' | 'closed', readonly string[]]>([
    ['unlabeled', 'our labels come off', ['bug', 'ralph:working'], 'open', ['bug']],
    ['unlabeled', 'no longer says that it was done', ['ralph:done'], 'open', []],
    ['closed', 'our labels come off', ['ralph', 'ralph:working', 'Ralph:Failed'], 'closed', ['ralph']],
    ['closed', 'that it is done is still said', ['ralph', 'ralph:done'], 'closed', ['ralph', 'ralph:done']],
    [
      'unlabeled',
      'it is labelled again in the meantime: nothing changes',
      ['ralph', 'ralph:working'],
      'open',
      ['ralph', 'ralph:working'],
    ],
    [
      'closed',
      'it is open again in the meantime: nothing changes',
      ['ralph', 'ralph:working'],
      'open',
      ['ralph', 'ralph:working'],
    ],
  ])('%s: %s', async (action, _, labels, state, left) => {
    const project = withLabels(labels, state);
    const run = await runOnce(project, { event: issueEvent(action, 1, [...labels, 'ralph']) });
    expect(run).toMatchObject(updated);
    expect(project.forge.issues.get(1)?.labels).toEqual(left);
    expect(run.log).toContain(`info: ${messageOf(run)}`);
    expect(project.forge.comments.size).toBe(0);
  });

  test.each(['deleted', 'transferred'])('%s: no request and no write', async (action) => {
    const project = withLabels(['ralph', 'ralph:working'], 'open');
    project.forge.issues.delete(1);
    expect(messageOf(await runOnce(project, { event: issueEvent(action, 1) }))).toMatch(
      new RegExp(`^#1 was ${action}, so it is out of the queue`),
    );
    expect({ writes: project.forge.writes, requests: project.forge.requests().sent }).toEqual({
      writes: [],
      requests: 0,
    });
  });

  test('a label that cannot be removed is a warning', async () => {
    const project = withLabels(['ralph:working'], 'open');
    project.forge.faults.set('changeLabels', new UserError('infrastructure', 'The token may not.'));
    const run = await runOnce(project, { event: issueEvent('unlabeled', 1) });
    expect(run).toMatchObject(updated);
    expect(warningsIn(run)).toEqual(['The run continued without new labels on #1: The token may not.']);
  });

  test('and the next run of the queue works only on the others', async () => {
    const project = createProject({ issues: [1, 2], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project, { event: schedule });
    addIssue(project.forge, 1, { labels: [] });
    await runOnce(project, { event: issueEvent('unlabeled', 1) });
    project.script.behaviours = [finisher];
    expect((await runOnce(project, { event: schedule })).work?.journal.map(({ taskId }) => taskId)).toEqual([
      'issue-2',
    ]);
  });
});

describe('an issue is opened again', () => {
  test('the next run of the queue works on it, not this one', async () => {
    const project = createProject({ issues: [1] });
    const run = await runOnce(project, { event: issueEvent('reopened', 1) });
    expect(run).toMatchObject(updated);
    expect(messageOf(run)).toBe(
      '#1 is open again. The next run of the queue looks at it; finished work starts again only if somebody with write permission reopened it or adds the label again.',
    );
  });

  test('with a lane of its own it waits for a person there', async () => {
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project, { event: labeled(1) });
    expect(messageOf(await runOnce(project, { event: issueEvent('reopened', 1) }))).toContain(
      'It has a branch of its own (ralph/issue-1)',
    );
  });

  test('and closed again in the meantime: it is not a task', async () => {
    const project = createProject({ issues: [] });
    addIssue(project.forge, 1, { state: 'closed' });
    expect(messageOf(await runOnce(project, { event: issueEvent('reopened', 1) }))).toContain(
      'no longer open with the label "ralph"',
    );
  });
});

describe("one of Ralph's pull requests is closed", () => {
  const worked = async (event: Event = schedule): Promise<Project> => {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-iterations': '1' } });
    await runOnce(project, { event });
    return project;
  };
  const merge = ({ forge, origin }: Project): void => {
    const at = forge.pulls.length - 1;
    const pull = forge.pulls[at];
    if (pull === undefined) throw new Error('There is no pull request.');
    forge.pulls[at] = { ...pull, state: 'merged', headSha: origin.branches.get(pull.branch) ?? '' };
    origin.branches.set('main', origin.branches.get(pull.branch) ?? '');
  };

  test('merged: its branch is deleted, its conversation ends, and the run reports what is done', async () => {
    const project = await worked();
    merge(project);
    expect(savedState(project).session).not.toBeNull();
    const run = await runOnce(project, { event: pullClosed(project, true) });
    expect(run).toMatchObject(updated);
    expect(messageOf(run)).toBe(
      'Pull request #101 was merged. Done on its branch: #1. The branch ralph/queue was deleted.',
    );
    expect(project.origin.branches.has('ralph/queue')).toBe(false);
    addIssue(project.forge, 1, { state: 'closed' });
    expect(await runOnce(project, { event: schedule })).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(project.script.calls.at(-1)?.resume).toBeNull();
    expect(savedState(project).transitions).toContainEqual(
      expect.objectContaining({ subject: 'session', reason: 'by ann (event)' }),
    );
  });

  test.each<[string, (project: Project) => void, RegExp]>([
    [
      'GitHub deleted the branch itself',
      ({ origin }) => {
        origin.branches.delete('ralph/queue');
      },
      /ralph\/queue was already deleted\.$/,
    ],
    [
      'the branch has gone on',
      ({ origin }) => {
        origin.branches.set('ralph/queue', 'other');
      },
      /stays: it holds commits that were not merged\.$/,
    ],
    [
      'the branch may not be deleted',
      ({ remote }) => {
        remote.refusal = 'a ruleset forbids it';
      },
      /ralph\/queue stays\.$/,
    ],
  ])('merged, and %s', async (_, happens, message) => {
    const project = await worked();
    merge(project);
    const event = pullClosed(project, true);
    happens(project);
    expect(messageOf(await runOnce(project, { event }))).toMatch(message);
  });

  test('merged, and its issue is still open: the branch stays, or the queue would begin the issue again', async () => {
    const project = await worked(labeled(2));
    merge(project);
    expect(messageOf(await runOnce(project, { event: pullClosed(project, true) }))).toContain(
      'stays while its issue is open',
    );
    expect(project.origin.branches.has('ralph/issue-2')).toBe(true);
    addIssue(project.forge, 2, { state: 'closed' });
    expect(messageOf(await runOnce(project, { event: pullClosed(project, true) }))).toContain(
      'ralph/issue-2 was deleted.',
    );
  });

  test("merged before its issue's own lane was done: the branch is deleted, and the queue continues from the merge", async () => {
    const project = createProject({ issues: [1, 2], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project, { event: labeled(2) });
    merge(project);
    expect(messageOf(await runOnce(project, { event: pullClosed(project, true) }))).toBe(
      'Pull request #101 was merged. No task on its branch is done. The branch ralph/issue-2 was deleted. The queue continues with #2, from what was merged.',
    );
    addIssue(project.forge, 1, { state: 'closed' });
    project.script.behaviours = [finisher];
    const run = await runOnce(project, { event: schedule });
    expect(run.work?.journal.map(({ taskId }) => taskId)).toEqual(['issue-2']);
    expect(project.forge.issues.get(2)?.labels).toEqual(['ralph', 'ralph:done']);
  });

  test('merged while its issue waits for a person: it waits in the queue until a person asks for a retry', async () => {
    const project = createProject({ issues: [2], agent: [steadyWorker, claimsBlocked] });
    expect(await runOnce(project, { event: labeled(2) })).toMatchObject({ end: 'blocked (needs_human)', calls: 3 });
    merge(project);
    expect(messageOf(await runOnce(project, { event: pullClosed(project, true) }))).toContain(
      'The branch ralph/issue-2 was deleted. #2 still waits for a person: comment `/ralph retry` on it to continue.',
    );
    project.script.behaviours = [finisher];
    expect(await runOnce(project, { event: schedule })).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
    expect(await runOnce(project, { event: commented('/ralph retry', { issue: 2 }) })).toMatchObject({
      end: 'complete (plan_complete)',
      calls: 1,
    });
    expect(await runOnce(project, { event: schedule })).toMatchObject({ end: 'idle (all_done)', calls: 0 });
  });

  test("merged before its issue's own lane was done, while the branch has newer commits: the answer says how to ask for more", async () => {
    const project = createProject({ issues: [1, 2], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project, { event: labeled(2) });
    merge(project);
    const event = pullClosed(project, true);
    project.origin.branches.set('ralph/issue-2', 'other');
    expect(messageOf(await runOnce(project, { event }))).toMatch(
      /stays: it holds commits that were not merged\. #2 is not done: comment `\/ralph run` on it to continue\.$/,
    );
  });

  test('not merged: the lane rests', async () => {
    const project = await worked();
    const pull = project.forge.pulls[0];
    if (pull !== undefined) project.forge.pulls[0] = { ...pull, state: 'closed' };
    const run = await runOnce(project, { event: pullClosed(project, false) });
    expect(messageOf(run)).toMatch(
      /^Pull request #101 was closed without merging, so work on the queue is on hold\. Reopen it to continue/,
    );
    expect(await runOnce(project, { event: schedule })).toMatchObject({ end: 'paused (by_person)', calls: 0 });
  });

  test('of a fork: refused, and nothing is deleted', async () => {
    const project = await worked();
    const event = pullClosed(project, true);
    const payload = event.payload as { readonly pull_request: { readonly head: object } };
    const run = await runOnce(project, {
      event: {
        ...event,
        payload: {
          ...payload,
          pull_request: {
            ...payload.pull_request,
            head: { ...payload.pull_request.head, repo: { full_name: 'eve/shop' } },
          },
        },
      },
    });
    expect(run).toMatchObject({
      end: 'refused (not_allowed)',
      outcome: { message: expect.stringContaining('comes from a fork') },
    });
    expect(project.origin.branches.has('ralph/queue')).toBe(true);
  });
});

describe('the person who adds the label', () => {
  test.each<[string, string, Readonly<Record<string, string>>, string]>([
    ['a person with write access', 'ann', {}, 'complete (plan_complete)'],
    ['a person who may only read', 'eve', {}, 'refused (not_allowed)'],
    ['a bot that nobody named', 'helper[bot]', {}, 'refused (not_allowed)'],
    ['a bot that is allowed', 'helper[bot]', { 'allowed-bots': 'helper[bot]' }, 'complete (plan_complete)'],
    [
      'a bot that is allowed, with the id of another account',
      'imposter[bot]',
      { 'allowed-bots': 'imposter[bot]' },
      'refused (not_allowed)',
    ],
  ])('%s', async (_, login, inputs, end) => {
    const project = createProject({ issues: [1], agent: [finisher], inputs });
    project.forge.accounts
      .set('helper[bot]', { login: 'helper[bot]', id: 1, kind: 'bot' })
      .set('imposter[bot]', { login: 'imposter[bot]', id: 9, kind: 'bot' });
    expect(await runOnce(project, { event: labeled(1, login) })).toMatchObject({ end });
  });
});

test('a state with unexpected tasks of the queue does not keep a merge from being reported', async () => {
  const project = createProject({ issues: [1], agent: [finisher] });
  await runOnce(project);
  changeState(project, (state) => ({ ...state, tasks: {} }));
  expect(messageOf(await runOnce(project, { event: pullClosed(project, true) }))).toContain(
    'No task on its branch is done.',
  );
});

describe('the event itself settles a need that no longer exists', () => {
  const shownOn = ({ forge }: Project, thread: number): readonly string[] =>
    [...(forge.notifications.get(thread)?.entries() ?? [])].map(([marker, body]) =>
      marker.startsWith('settled') ? (body.match(/\*\*Settled:.*/)?.[0].replaceAll('\u200B', '') ?? '') : 'open',
    );

  test.each(['closed', 'unlabeled'])('its issue is %s', async (action) => {
    const project = createProject({ issues: [1], agent: [claimsBlocked] });
    await runOnce(project);
    expect(shownOn(project, 1)).toEqual(['open']);
    addIssue(project.forge, 1, action === 'closed' ? { state: 'closed' } : { labels: [] });
    const { forge } = project;
    expect(await runOnce(project, { event: issueEvent(action, 1) })).toMatchObject(updated);
    expect(shownOn(project, 1)).toEqual([
      expect.stringMatching(/^\*\*Settled:\*\* .*1 is no longer on the task list\.$/),
    ]);
    // The lane's next run changes no notification.
    const before = JSON.stringify([...(forge.notifications.get(1)?.values() ?? [])]);
    addIssue(forge, 2);
    project.script.behaviours = [finisher];
    await runOnce(project);
    expect(JSON.stringify([...(forge.notifications.get(1)?.values() ?? [])])).toBe(before);
    expect(savedState(project).notified.map(({ kind }) => kind)).toEqual(['ready']);
  });

  test.each([true, false])('its pull request is closed (merged: %s)', async (merged) => {
    const project = createProject({ issues: [1], agent: [finisher] });
    await runOnce(project);
    const number = project.forge.pulls.at(-1)?.number ?? 0;
    expect(shownOn(project, number)).toEqual(['open']);
    await runOnce(project, { event: pullClosed(project, merged) });
    expect(shownOn(project, number)).toEqual(['**Settled:** The pull request was merged or closed.']);
  });

  test('an issue that has become a task again keeps its question', async () => {
    const project = createProject({ issues: [1], agent: [claimsBlocked] });
    await runOnce(project);
    await runOnce(project, { event: issueEvent('closed', 1) });
    expect(shownOn(project, 1)).toEqual(['open']);
  });

  test('a need that cannot be settled is a warning', async () => {
    const project = createProject({ issues: [1], agent: [claimsBlocked] });
    await runOnce(project);
    addIssue(project.forge, 1, { state: 'closed' });
    project.forge.faults.set('settleNotifications', new UserError('infrastructure', 'Down.'));
    const run = await runOnce(project, { event: issueEvent('closed', 1) });
    expect(run).toMatchObject(updated);
    expect(warningsIn(run)).toContain(
      'The run continued without marking earlier notifications on #1 as settled: Down.',
    );
  });
});
