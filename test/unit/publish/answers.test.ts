import { describe, expect, test } from 'vitest';
import type { Feedback } from '../../../src/core/feedback/memory.ts';
import type { ThreadNow } from '../../../src/core/feedback/pull-request-now.ts';
import type { Task } from '../../../src/core/tasks/task.ts';
import { UserError } from '../../../src/errors.ts';
import { runOnce, savedState } from '../../loop/stage/run-action.ts';
import { COMMIT, item, items, post, stage, threadNow, threadTask, type Answer } from './answering.ts';

describe('an answer', () => {
  test('is posted in its thread, once, and the state knows', async () => {
    const some = await stage();
    const given = { items: items(11, 12), tasks: [threadTask(11), threadTask(12)] };
    const now = { threads: [threadNow(11), threadNow(12)] };
    expect(await post(some, { ...given, now })).toMatchObject({
      replies: [11, 12],
      posted: ['thread-11', 'thread-12'],
    });
    expect(some.project.forge.replies[0]?.body).toMatch(
      /^<!-- ralph-action:answer thread-11 asked=11 -->\n\n\*\*Done\*\* in \[`a1b2c3d`\]\(.*\/commit\/a1b2c3d.*\)\.\n\n> “Renamed it\.”$/,
    );
  });

  test('is known again by a run that makes up for one that was killed right behind it', async () => {
    const some = await stage();
    const given = { items: items(11, 12), tasks: [threadTask(11), threadTask(12)] };
    await post(some, { ...given, now: { threads: [threadNow(11), threadNow(12)] } });
    const [answered] = some.project.forge.replies;
    const now = {
      threads: [threadNow(11, [{ id: 20, text: answered?.body.replaceAll('\n', '\r\n') ?? '' }]), threadNow(12)],
    };
    const { replies, posted } = await post(some, { ...given, now });
    expect(replies).toEqual([11, 12, 12]);
    expect(posted).toEqual(['thread-11', 'thread-12']);
  });

  test('is not taken for given because somebody imitates its first line', async () => {
    const some = await stage();
    const forged = { id: 20, text: '<!-- ralph-action:answer thread-11 asked=11 -->\n\nDone.' };
    const now = { threads: [threadNow(11, [forged])] };
    expect(await post(some, { items: items(11), tasks: [threadTask(11)], now })).toMatchObject({ replies: [11] });
  });

  test('needs no thread that somebody resolved while the agent worked', async () => {
    const some = await stage();
    const given = { items: items(11), tasks: [threadTask(11)] };
    expect(await post(some, { ...given, now: { threads: [] } })).toMatchObject({ replies: [], posted: ['thread-11'] });
  });

  test('is posted in a thread that is not among those that GitHub lists at once', async () => {
    const some = await stage();
    const given = { items: items(11), tasks: [threadTask(11)] };
    expect(await post(some, { ...given, now: { threads: [], moreThreads: 3 } })).toMatchObject({ replies: [11] });
  });

  test('goes nowhere that only a state names: which threads there are is the gate\u2019s word', async () => {
    const some = await stage();
    const now = { threads: [threadNow(99)] };
    expect(await post(some, { items: items(99), now })).toMatchObject({ replies: [], posted: [] });
  });

  test('of an earlier run is posted by the next one', async () => {
    const some = await stage();
    const now = { threads: [threadNow(11)] };
    const given = { items: items(11), earlier: items(11), now };
    expect(await post(some, given)).toMatchObject({ replies: [11], posted: ['thread-11'] });
  });

  test('waits until its task is done: what a clean clone proved wrong is not an answer', async () => {
    const some = await stage();
    const progress = {
      'thread-11': { state: 'todo', attempts: 1, startedTree: null, doneCommit: null, reason: null, setAside: null },
    } as const;
    const given = { items: items(11), tasks: [threadTask(11)], progress, now: { threads: [threadNow(11)] } };
    expect(await post(some, given)).toMatchObject({ replies: [], posted: [] });
  });

  test('of commits that did not reach the remote is not given', async () => {
    const some = await stage();
    some.project.remote.refusal = 'protected branch';
    const given = { items: items(11), tasks: [threadTask(11)], now: { threads: [threadNow(11)] } };
    expect(await post(some, given)).toMatchObject({ replies: [], posted: [] });
    expect(savedState(some.project).feedback.items['thread-11']?.answer).toBeNull();
  });

  test('of a review as a whole is one comment on the pull request', async () => {
    const some = await stage();
    const review: Feedback['items'] = { 'review-7': item(7, { kind: 'review' }) };
    const on = { kind: 'review', review: 7, by: 'ann' } as const;
    const asked: Task = {
      ...threadTask(7),
      id: 'review-7',
      source: { kind: 'feedback', on, pullRequest: 1, url: 'https://github.com/acme/shop/pull/1' },
    };
    const number = some.project.forge.pulls[0]?.number ?? 0;
    const { replies, posted } = await post(some, { items: review, tasks: [asked] });
    expect({ replies, posted }).toEqual({ replies: [], posted: ['review-7'] });
    expect([...(some.project.forge.comments.get(number)?.keys() ?? [])]).toContain(
      '<!-- ralph-action:answer review-7 asked=7 -->',
    );
  });

  test('of a check is what the pull request says: nothing is posted or asked for it', async () => {
    const some = await stage();
    const id = 'check-0123456789ab';
    const on = { kind: 'check', name: 'test', head: COMMIT } as const;
    const asked: Task = {
      ...threadTask(1),
      id,
      source: { kind: 'feedback', on, pullRequest: 1, url: 'https://x.test' },
    };
    some.project.forge.faults.set('pullRequestNow', new Error('must not be asked'));
    const given = { items: { [id]: item(1, { kind: 'check' }) }, tasks: [asked] };
    expect(await post(some, given)).toMatchObject({ posted: [id], warnings: [] });
  });
});

describe('a thread', () => {
  const given = { items: items(11), tasks: [threadTask(11)] };
  test.each<[string, ThreadNow, Partial<Answer>, string, readonly string[]]>([
    ['is resolved by a change', threadNow(11), {}, 'true', ['T11']],
    ['not where nothing was changed', threadNow(11), { kind: 'unchanged', commit: null }, 'true', []],
    ['not where somebody has said more since', threadNow(11, [{ id: 30, text: 'And this?' }]), {}, 'true', []],
    ['not where that is left to people', threadNow(11), {}, 'false', []],
  ])('%s', async (_, thread, answer, resolve, expected) => {
    const some = await stage({ 'resolve-threads': resolve });
    const answered = { 'thread-11': item(11, {}, answer) };
    const { resolved, replies } = await post(some, { ...given, items: answered, now: { threads: [thread] } });
    expect({ resolved, replies }).toEqual({ resolved: expected, replies: [11] });
  });
});

describe('what fails', () => {
  const numbers = [11, 12, 13, 14, 15];
  const given = {
    items: items(...numbers),
    tasks: numbers.map(threadTask),
    now: { threads: numbers.map((one) => threadNow(one)) },
  };

  test('is a warning and left to a later run, with the first refusal to wait', async () => {
    const some = await stage();
    let tries = 0;
    some.project.forge.replyInThread = () => {
      tries += 1;
      return Promise.reject(new UserError('infrastructure', 'GitHub asks for a pause.'));
    };
    const { posted } = await post(some, given);
    expect(posted).toEqual([]);
    expect(tries).toBe(1);
  });

  test('that is never allowed is not tried again', async () => {
    const some = await stage();
    some.project.forge.faults.set('replyInThread', new UserError('configuration', 'The token may not.'));
    expect((await post(some, given)).posted).toEqual(numbers.map((one) => `thread-${String(one)}`));
  });

  test('to be read is tried again by a later run, which has nothing else to do', async () => {
    const some = await stage();
    some.project.forge.faults.set('pullRequestNow', new UserError('infrastructure', 'GitHub did not answer.'));
    expect(await post(some, given)).toMatchObject({ replies: [], posted: [] });
    some.project.forge.faults.clear();
    await runOnce(some.project);
    expect(some.project.forge.replies.map(({ replyTo }) => replyTo)).toEqual(numbers);
    expect(Object.values(savedState(some.project).feedback.items).every(({ answer }) => answer?.posted)).toBe(true);
  });
});
