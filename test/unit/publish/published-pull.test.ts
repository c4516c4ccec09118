import { describe, expect, test } from 'vitest';
import { noChange, EMPTY_SHARE } from '../../../src/core/lane/change.ts';
import { createInitialState, type LaneState } from '../../../src/core/lane/state/state.ts';
import { emptySnapshot } from '../../../src/core/snapshot/snapshot.ts';
import { MAX_TASKS_OF_PULL, listStoredPulls, withPublishedPull } from '../../../src/core/snapshot/stored-pull.ts';
import { taskOfIssue } from '../../../src/core/tasks/issue-task.ts';
import { untouchedProgress } from '../../../src/core/tasks/queue.ts';
import { createUntouchedWork, type Work, endIntake } from '../../../src/handover/intake.ts';
import { judgeUnverifiedMerge } from '../../../src/handover/clear-head.ts';
import { buildPublishedPull } from '../../../src/handover/published-pull.ts';
import { noon, policy, task } from '../core/core-fixtures.ts';

const ISSUE = { body: '', url: '', blockedBy: 0, openSubIssues: 0 };
const share = { ...EMPTY_SHARE, iterations: 3, costUsd: 1.5, agents: ['codex', 'claude'] } as const;
const approval = { text: 'a', by: 'ann', at: noon - 1 };

function workOn(tasks: Work['tasks'], own: Partial<LaneState>): Work {
  const lane = {
    id: 'queue',
    branch: 'ralph/queue',
    baseBranch: 'main',
    start: { kind: 'fresh' },
    pullRequest: null,
  } as const;
  const state = { ...createInitialState('queue', noon), ...own };
  const { notes } = endIntake({ kind: 'idle', reason: 'no_tasks' });
  const begun = createUntouchedWork(
    { lane, tasks, notes, proposal: null, state, head: 'a', remoteHead: null, shown: null, startedAt: noon },
    noon + 1,
  );
  return { ...begun, outcome: { kind: 'idle', reason: 'no_tasks' } };
}

const publication = {
  ...{ number: 12, head: 'b'.repeat(40), taskLabel: 'ralph' },
  agents: [
    { name: 'codex', model: null },
    { name: 'claude', model: 'opus' },
  ] as const,
  redact: (text: string) => text.replaceAll('sk-1', '***'),
};

const labelled = taskOfIssue({
  ...ISSUE,
  number: 7,
  title: 'Use sk-1',
  labels: ['Ralph', 'ralph:working', 'bug', 'P1 sk-1'],
});
const known = {
  change: { ...noChange, iterations: 4, costUsd: 2, tasks: { 'issue-7': share } },
  tasks: { 'issue-7': { ...untouchedProgress, state: 'finished', approval } },
} as const;

describe('what is remembered of a published pull request', () => {
  test('is what its tasks took, without our labels and without secrets', () => {
    expect(
      buildPublishedPull(
        workOn([labelled, taskOfIssue({ ...ISSUE, number: 8, title: 'Later', labels: [] })], known),
        publication,
      ),
    ).toEqual({
      ...{ number: 12, head: 'b'.repeat(40), lane: 'queue', baseBranch: 'main', publishedAt: noon + 1 },
      ...{ personHead: null, reviewedAt: null, iterations: 4, costUsd: 2 },
      tasks: [
        {
          ...{ id: 'issue-7', title: 'Use ***', state: 'done', labels: ['bug', 'P1 ***'], labelledAt: noon - 1 },
          ...{ agent: 'claude', model: 'opus', iterations: 3, costUsd: 1.5 },
        },
      ],
    });
  });

  test('is an unknown cost, not the known part of it', () => {
    const change = {
      ...known.change,
      unpriced: 1,
      tasks: { 'issue-7': { ...share, unpriced: 1, agents: ['codex'] as const } },
    };
    expect(buildPublishedPull(workOn([labelled], { ...known, change }), publication)).toMatchObject({
      costUsd: null,
      tasks: [{ agent: 'codex', model: null, costUsd: null }],
    });
  });

  test('is a review that this run answered, not an earlier one or a check', () => {
    const item = { kind: 'thread', title: '', url: null, rounds: 0, asked: '1' } as const;
    const answer = (at: number) =>
      ({ kind: 'changed', commit: null, words: null, isOurs: false, at, posted: true }) as const;
    const reviewedAt = (items: LaneState['feedback']['items']) => {
      const { feedback } = createInitialState('queue', noon);
      return buildPublishedPull(workOn([], { feedback: { ...feedback, items } }), publication).reviewedAt;
    };
    expect(reviewedAt({ 'thread-1': { ...item, answer: answer(noon) } })).toBe(noon);
    expect(reviewedAt({ 'thread-1': { ...item, answer: answer(noon - 1) } })).toBeNull();
    expect(reviewedAt({ 'thread-1': { ...item, answer: null } })).toBeNull();
    expect(reviewedAt({ 'check-1': { ...item, kind: 'check', answer: answer(noon) } })).toBeNull();
  });

  test('fits the file, whatever people write', () => {
    const long = 'x'.repeat(5_000);
    const tasks = Array.from({ length: 50 }, (_, at) => ({
      ...task(at + 1),
      source: { kind: 'issue', number: at + 1, url: '', labels: Array.from({ length: 20 }, () => long) } as const,
      title: long,
    }));
    const change = { ...noChange, tasks: Object.fromEntries(tasks.map(({ id }) => [id, share])) };
    const agents = [{ name: 'claude', model: long }] as const;
    const published = buildPublishedPull(workOn(tasks, { change }), { ...publication, agents });
    expect(listStoredPulls(withPublishedPull(emptySnapshot, published))[0]?.tasks).toHaveLength(MAX_TASKS_OF_PULL);
  });
});

describe('a merge of what people pushed, which nothing has verified,', () => {
  const merge = (outcome: Work['outcome'], verifies: boolean): Pick<Work, 'outcome' | 'warnings' | 'head'> =>
    judgeUnverifiedMerge({ ...workOn([labelled], {}), outcome }, 'merged', {
      config: { policy: { ...policy, verifies } },
      clock: { now: () => noon },
    });

  test('leaves no run complete, also one that finished nothing', () => {
    const merged = merge({ kind: 'complete', reason: 'plan_complete' }, true);
    expect(merged).toMatchObject({ head: 'merged', outcome: { kind: 'limit', reason: 'unverified' }, warnings: [] });
    const warned = merge({ kind: 'limit', reason: 'cost' }, true);
    expect(warned.outcome).toEqual({ kind: 'limit', reason: 'cost' });
    expect(warned.warnings.join()).toContain('its commits are merged with theirs');
  });

  test('is like every other head without `verify`', () => {
    const merged = merge({ kind: 'complete', reason: 'plan_complete' }, false);
    expect(merged).toMatchObject({ outcome: { kind: 'complete' }, warnings: [] });
  });
});
