import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import type { Behaviour } from '../stage/behaviours.ts';
import { commented, createProject, labeled, red, runOnce, savedState, schedule } from '../stage/run-action.ts';
import { bodyOf, BRANCH, next, notices, remembered, reviewed, reviewedOn, worker } from './reviewing.ts';
import { comment, person, review, thread } from './said.ts';

const green = { verify: () => Promise.resolve({ kind: 'passed' as const, durationMs: 1 }) };
const suggestion = comment(11, '```suggestion\nshort 1\n```');

describe('a suggestion that does not pass', () => {
  test.each([0, 1, 3])('is repaired by the agent, as one round of %i, and not called done before', async (rounds) => {
    const project = await reviewed(worker, {
      verify: 'npm test',
      'max-iterations': '1',
      'max-feedback-rounds': String(rounds),
    });
    project.forge.saidOf.set(BRANCH, { reviews: [review()], threads: [thread([suggestion])] });
    project.verifier = red;
    for (let run = 1; run <= 2; run += 1) {
      expect(await next(project)).toMatchObject({ end: 'limit (iterations)', calls: 1 });
      expect(project.forge.replies).toEqual([]);
      expect(bodyOf(project)).toMatch(/🚧 .*in progress/);
      expect(bodyOf(project)).not.toMatch(/pplied as suggested/);
      expect(notices(project).filter((text) => text.includes('max-feedback-rounds'))).toEqual([]);
    }
    // The queue's own task was done before, and gets no attempt for this.
    expect(savedState(project, 'queue').tasks['issue-1']?.attempts).toBe(1);
    project.verifier = green;
    expect((await next(project)).end).toBe('complete (plan_complete)');
    expect(project.forge.replies.map(({ body }) => body)).toEqual([expect.stringContaining('**Done** in')]);
    expect(remembered(project, 'thread-11')).toMatchObject({ rounds: 1, answer: { kind: 'changed', posted: true } });
    expect(notices(project).filter((text) => text.includes('max-feedback-rounds'))).toHaveLength(rounds === 1 ? 1 : 0);
  });

  test('but passes later is answered with the suggestion\u2019s own commit', async () => {
    const explains: Behaviour = () => ({
      output: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1, summary: 'The test is flaky.' } },
    });
    const project = await reviewed(explains, { verify: 'npm test', 'max-iterations': '1' });
    project.forge.saidOf.set(BRANCH, { reviews: [review()], threads: [thread([suggestion])] });
    project.verifier = red;
    await next(project);
    const commit = remembered(project, 'thread-11')?.answer?.commit ?? 'none';
    project.verifier = green;
    await next(project);
    expect(project.forge.replies.map(({ body }) => body)).toEqual([expect.stringContaining(commit)]);
  });
});

test("one person's request is answered, although another person likes it and approves", async () => {
  const project = await reviewed(worker);
  project.forge.permissions.set('bob', 'write');
  const bob = person('bob');
  project.forge.saidOf.set(BRANCH, {
    reviews: [review(), review({ id: 501, by: bob, state: 'approved', at: 20_000 })],
    threads: [thread([comment(11, 'Rename it.'), comment(12, 'I like it as it is.', { by: bob, review: 501 })])],
  });
  expect(await next(project)).toMatchObject({ calls: 1 });
  expect(project.forge.replies.map(({ replyTo }) => replyTo)).toEqual([11]);
});

test('thanks in a thread or as a review start nothing', async () => {
  const project = await reviewed(worker);
  const asked = [comment(11, 'Rename it.')];
  project.forge.saidOf.set(BRANCH, { reviews: [review()], threads: [thread(asked)] });
  await next(project);
  const said = project.forge.saidOf.get(BRANCH);
  project.forge.saidOf.set(BRANCH, {
    reviews: [review(), review({ id: 502, state: 'commented', text: 'LGTM 👍' })],
    threads: said?.threads?.map((one) => ({ ...one, comments: [...one.comments, comment(13, 'Thanks!')] })) ?? [],
  });
  expect(await next(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
});

test('`/ralph retry` works again on a review that was left to a person', async () => {
  const blocked: Behaviour = () => ({
    output: { signal: { status: 'BLOCKED', exitSignal: false, summary: 'I cannot.' } },
  });
  const project = await reviewed(blocked);
  project.forge.saidOf.set(BRANCH, { reviews: [review({ text: 'Rewrite it.' })] });
  expect((await next(project)).end).toBe('blocked (needs_human)');
  expect(await next(project)).toMatchObject({ calls: 0 });
  project.script.behaviours = [worker];
  await next(project, commented('/ralph retry review-500', { issue: 101, isPullRequest: true }));
  expect(remembered(project, 'review-500')).toMatchObject({ answer: { kind: 'changed', posted: true } });
});

test('answers that GitHub refuses permanently are not tried again, and are reported in the pull request', async () => {
  const project = await reviewed(worker);
  project.forge.saidOf.set(BRANCH, {
    reviews: [review()],
    threads: [11, 12, 13, 14, 15].map((id) => thread([comment(id, 'Rename it.')])),
  });
  let tried = 0;
  project.forge.replyInThread = () => {
    tried += 1;
    return Promise.reject(new UserError('configuration', 'The conversation is locked.'));
  };
  const run = await next(project);
  expect(run.log.filter((line) => line.includes('locked'))).toEqual([
    expect.stringContaining('The run continued without an answer in a thread of #101: The conversation is locked.'),
  ]);
  expect(tried).toBe(5);
  expect(bodyOf(project)).toContain('Did thread-11.');
  expect(await next(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
  expect(tried).toBe(5);
});

describe('`/ralph retry` of a thread that is out of rounds', () => {
  const again = comment(1_000_001, 'To `greet`, please.', { at: 99_000 });
  test.each(['ralph/queue', 'ralph/issue-1'])('on the pull request of %s works on it again, once', async (branch) => {
    const inputs = { 'max-feedback-rounds': '1' };
    const project = createProject({ agent: [worker], inputs });
    const lane = branch.slice('ralph/'.length);
    const start = lane === 'queue' ? schedule : labeled(1);
    await runOnce(project, { event: start });
    project.forge.saidOf.set(branch, { reviews: [review()], threads: [thread([comment(11, 'Rename it.')])] });
    const submitted = reviewedOn(branch);
    expect(await next(project, submitted)).toMatchObject({ calls: 1 });
    const said = project.forge.saidOf.get(branch);
    const threads = said?.threads?.map((one) => ({ ...one, comments: [...one.comments, again] })) ?? [];
    project.forge.saidOf.set(branch, { ...said, threads });
    const updates = (): number => project.forge.writes.filter((write) => write.startsWith('update #')).length;
    const before = updates();
    for (const event of [submitted, schedule]) {
      expect(await next(project, event)).toMatchObject({ calls: 0 });
      expect(updates()).toBe(before + 1);
      expect(bodyOf(project)).toMatch(/⛔ .*: asked for again, so a person must decide\n/);
      expect(bodyOf(project)).toMatch(/^## .*1 review thread is open$/m);
    }
    const retry = commented('/ralph retry thread-11', { issue: 101, isPullRequest: true });
    expect(await next(project, retry)).toMatchObject({ calls: 1 });
    expect(project.forge.replies.map(({ body }) => /asked=(\d+)/.exec(body)?.[1])).toEqual(['11', '1000001']);
    expect(savedState(project, lane).feedback.items['thread-11']?.rounds).toBe(1);
  });

  test('that does not exist is refused', async () => {
    const project = await reviewed(worker);
    const run = await next(project, commented('/ralph retry thread-99', { issue: 101, isPullRequest: true }));
    expect(run.calls).toBe(0);
    expect(JSON.stringify([...project.forge.comments.values()].map((texts) => [...texts.values()]))).toContain(
      'There is no review thread, review or check called thread-99 on the pull request of the queue.',
    );
  });
});
