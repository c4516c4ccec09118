import { describe, expect, test } from 'vitest';
import type { LifecycleLabel } from '../../../src/core/people/labels.ts';
import { createInitialState, type LaneState } from '../../../src/core/lane/state/state.ts';
import type { TaskObstacle, TaskProgress } from '../../../src/core/tasks/task.ts';
import { endIntake, type Intake } from '../../../src/handover/intake.ts';
import { chooseLabels, labelWishesOfEnd, publishLabels } from '../../../src/publish/labels.ts';
import { UserError } from '../../../src/errors.ts';
import { withWishes } from '../../../src/github/wishes/with-wishes.ts';
import { createForge, createLog, createOrigin } from '../../loop/stage/in-memory.ts';
import { planTask, taskReport } from '../report/fixtures.ts';

const notice = (issue: number, labels: readonly string[] = []) => ({ issue, labels, by: 'ann', editor: 'eve', at: 1 });

function issueTask(
  number: number,
  { obstacle, labels }: { readonly obstacle: TaskObstacle | null; readonly labels: readonly string[] },
) {
  const { task } = taskReport(number);
  return { ...task, obstacle, source: { kind: 'issue', number, url: '', labels } as const };
}

const progress = (state: TaskProgress['state']): LaneState['tasks'] => ({
  'issue-1': { state, attempts: 1, startedTree: null, doneCommit: null, reason: null, setAside: null },
});

describe('the label that an issue should have', () => {
  test.each<[TaskProgress['state'], TaskObstacle | null, readonly string[], LifecycleLabel | null]>([
    ['todo', null, [], null],
    ['todo', null, ['ralph:needs-approval'], null],
    ['todo', 'needs-approval', [], 'ralph:needs-approval'],
    ['in-progress', 'needs-approval', ['ralph:working'], 'ralph:needs-approval'],
    ['in-progress', null, [], 'ralph:working'],
    ['in-progress', 'dependency-cycle', [], 'ralph:working'],
    ['todo', 'unchecked', ['ralph:working'], null],
    ['failed', 'unchecked', ['ralph:needs-approval'], 'ralph:failed'],
    ['done', 'needs-approval', [], 'ralph:done'],
    ['failed', null, [], 'ralph:failed'],
    ['blocked', null, [], 'ralph:blocked'],
  ])('%s, obstacle: %s, now: %j → %s', (state, obstacle, labels, wanted) => {
    expect(
      chooseLabels({
        tasks: [issueTask(1, { obstacle, labels })],
        progress: progress(state),
        notices: [],
        notified: [],
      }),
    ).toEqual([{ issue: 1, labels, wanted }]);
  });

  test('is not known while nobody has looked whether it still waits for approval', () => {
    expect(
      chooseLabels({
        tasks: [issueTask(1, { obstacle: 'unchecked', labels: ['ralph:needs-approval'] })],
        progress: {},
        notices: [],
        notified: [],
      }),
    ).toEqual([]);
  });

  test('is that it waits, once a notice said so, be it a task of the lane or not', () => {
    const [first, second, third] = [notice(1), notice(2, ['bug']), notice(3)];
    const tasks = [
      issueTask(1, { obstacle: 'needs-approval', labels: [] }),
      issueTask(3, { obstacle: 'needs-approval', labels: [] }),
      planTask(7).task,
    ];
    expect(
      chooseLabels({ tasks, progress: {}, notices: [first, second, third, notice(4)], notified: [first, second] }),
    ).toEqual([
      { issue: 1, labels: [], wanted: 'ralph:needs-approval' },
      { issue: 2, labels: ['bug'], wanted: 'ralph:needs-approval' },
    ]);
  });
});

describe('a run that the gate ended', () => {
  const lease = { runTag: 'm', runId: '98', runAttempt: 1, runUrl: '', acquiredAt: 0, durationMs: 1 };
  const end = (
    change: Partial<Extract<Intake, { kind: 'end' }>>,
    isWorked = false,
  ): Extract<Intake, { kind: 'end' }> => {
    const base = endIntake({ kind: 'idle', reason: 'all_done' });
    return {
      ...base,
      tasks: [
        issueTask(1, { obstacle: null, labels: ['ralph:working'] }),
        issueTask(2, { obstacle: null, labels: ['ralph:needs-approval'] }),
      ],
      state: { ...createInitialState('queue', 0), tasks: progress('done') },
      notes: { ...base.notes, claimedBy: isWorked ? lease : null, notices: [notice(3)] },
      ...change,
    };
  };
  const notifiedOnly = [{ issue: 3, labels: [], wanted: 'ralph:needs-approval' }];

  test.each<[string, Extract<Intake, { kind: 'end' }>, unknown]>([
    [
      'fixes what is certain, and leaves alone what waited for approval',
      end({}),
      [{ issue: 1, labels: ['ralph:working'], wanted: 'ralph:done' }, ...notifiedOnly],
    ],
    ['leaves the lane to a run that works on it now', end({}, true), notifiedOnly],
    [
      'leaves it to the other run that was faster',
      end({ outcome: { kind: 'refused', reason: 'another_run', message: '' } }),
      notifiedOnly,
    ],
    ['only answers when it was asked', end({ outcome: { kind: 'idle', reason: 'answered' } }), notifiedOnly],
    ['knows nothing without a state', end({ state: null }), notifiedOnly],
  ])('%s', (_rule, intake, wishes) => {
    expect(labelWishesOfEnd(intake, intake.notes.notices)).toEqual(wishes);
  });
});

describe('writing them', () => {
  const world = () => {
    const forge = createForge(createOrigin({}));
    return { github: forge, forge: withWishes(forge), log: createLog(), stepWithinMs: null };
  };
  const wish = (issue: number) => ({ issue, labels: [], wanted: 'ralph:failed' as const });

  test('gives up after three that failed, in one warning', async () => {
    const run = world();
    run.github.faults.set('changeLabels', new UserError('configuration', 'No.'));
    expect(await publishLabels(run, [1, 2, 3, 4, 5].map(wish))).toEqual([]);
    expect(run.forge.refusedWishes()).toEqual([
      'The run continued without new labels on #1, new labels on #2, new labels on #3: No.',
    ]);
    expect(run.forge.requests().sent).toBe(3);
  });

  test('asks nothing when all is well', async () => {
    const run = world();
    expect(
      await publishLabels(run, [
        { issue: 1, labels: ['RALPH:FAILED', 'bug'], wanted: 'ralph:failed' },
        { issue: 2, labels: ['bug'], wanted: null },
      ]),
    ).toEqual([]);
    expect(run.forge.requests().sent).toBe(0);
  });

  test('that takes too long is a warning', async () => {
    const { forge, ...others } = world();
    const hanging = { ...forge, changeLabels: () => new Promise<never>(() => undefined) };
    const run = { ...others, forge: hanging, stepWithinMs: 1 };
    expect(await publishLabels(run, [wish(1)])).toEqual([
      expect.stringMatching(/^Some of the labels could not be written: it ran out of time/),
    ]);
  });
});
