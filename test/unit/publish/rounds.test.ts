import { describe, expect, test } from 'vitest';
import type { Feedback } from '../../../src/core/feedback/memory.ts';
import type { Project } from '../../loop/stage/project.ts';
import { savedState } from '../../loop/stage/run-action.ts';
import { item, items, post, stage, threadNow, threadTask } from './answering.ts';

const rounds = (number: number): Feedback['items'] => ({ 'thread-11': item(11, { rounds: number }) });

/** Returns the first lines of the notifications, with the mentioned people. */
const notifications = ({ forge }: Project) =>
  [...forge.notifications].flatMap(([thread, texts]) =>
    [...texts].map(([marker, body]) => {
      const of = marker.replace('<!-- ralph-action:notification ', '').replace(' -->', '');
      return [`#${String(thread)} ${of}`, ...(body.match(/@[\w-]+/g) ?? [])].join(' ');
    }),
  );

describe('the last round that `max-feedback-rounds` allows', () => {
  test('notifies who asked, on the pull request', async () => {
    const first = await stage();
    const some = { ...first, work: { ...first.work, state: savedState(first.project), hasNewCommits: false } };
    const number = String(some.project.forge.pulls[0]?.number);
    const now = { threads: [threadNow(11)] };
    await post(some, { items: rounds(3), earlier: rounds(2), tasks: [threadTask(11)], now });
    expect(notifications(some.project)).toContain(`#${number} feedback_rounds:thread-11 @ann`);
    expect(savedState(some.project).notified).toMatchObject([
      { kind: 'ready' },
      { kind: 'feedback_rounds', about: 'thread-11' },
    ]);
  });

  test.each([
    ['not an earlier one', 2, '3'],
    ['not without a limit', 3, '0'],
  ])('%s', async (_, number, limit) => {
    const some = await stage({ 'max-feedback-rounds': limit });
    const earlier = rounds(number - 1);
    await post(some, { items: rounds(number), earlier, tasks: [threadTask(11)], now: { threads: [threadNow(11)] } });
    expect(notifications(some.project).join()).not.toContain('feedback_rounds');
  });
});

test('a pull request that people know to be ready is not said to be ready again because threads were answered', async () => {
  const some = await stage();
  const before = some.project.forge.writes.filter((write) => write.startsWith('notified'));
  const journal = some.work.journal.map((entry) => ({ ...entry, taskId: 'thread-11' }));
  const known = { ...some.work, journal, state: savedState(some.project) };
  await post(
    { ...some, work: known },
    { items: items(11), tasks: [threadTask(11)], now: { threads: [threadNow(11)] } },
  );
  expect(some.project.forge.writes.filter((write) => write.startsWith('notified'))).toEqual(before);
  expect(before).toHaveLength(1);
});
