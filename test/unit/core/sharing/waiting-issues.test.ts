import { describe, expect, test } from 'vitest';
import { withAskedTasks } from '../../../../src/core/snapshot/going-on.ts';
import { emptySnapshot, listWaitingIssues, withWaiting } from '../../../../src/core/snapshot/snapshot.ts';
import {
  findAnswer,
  type LaneAnswer,
  MAX_WAITING,
  listUnansweredComments,
  updateWaitingIssues,
  withAnswers,
  type WaitingIssue,
} from '../../../../src/core/sharing/waiting-issues.ts';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import { MAX_NOTIFICATIONS, type Notification } from '../../../../src/core/people/notifications.ts';
import { untouchedProgress, withChangedTasks } from '../../../../src/core/tasks/queue.ts';
import type { TaskProgress } from '../../../../src/core/tasks/task.ts';
import { HOUR, MINUTE, noon } from '../core-fixtures.ts';

const NOW = noon + HOUR;
const approval = { text: 'a'.repeat(32), by: 'ann', at: noon - HOUR };
const blocked: TaskProgress = { ...untouchedProgress, state: 'blocked', attempts: 2, reason: 'status_blocked' };
const failed: TaskProgress = { ...untouchedProgress, state: 'failed', attempts: 8, reason: 'max_iterations_per_task' };
const done: TaskProgress = { ...untouchedProgress, state: 'done', attempts: 3 };
const working: TaskProgress = { ...untouchedProgress, state: 'in-progress', attempts: 3 };
const aside = (times: number, at: number, attempts = 3): TaskProgress => ({
  ...untouchedProgress,
  state: 'stuck',
  attempts,
  reason: 'no_progress',
  setAside: { times, at },
});
const waits = (change: Partial<WaitingIssue> = {}): WaitingIssue => ({
  ...{ lane: 'issue-1', task: 'issue-1', at: noon, attempts: 2, isAsked: false },
  ...change,
});
const answer = (change: Partial<LaneAnswer> = {}): LaneAnswer => ({
  lane: 'issue-1',
  task: 'issue-1',
  progress: { ...blocked, approval },
  notice: { thread: 1, comment: 5, at: noon },
  at: noon,
  ...change,
});
type Of<Field extends 'answer' | 'approval'> = Readonly<Record<string, TaskProgress[Field]>>;
/** Facts about tasks outside of their progress: consent, and the answers of other lanes. */
interface Beside {
  readonly answers?: Of<'answer'>;
  readonly approvals?: Of<'approval'>;
}
const lane = (
  id: string,
  tasks: LaneState['tasks'],
  { answers = {}, approvals = {}, ...change }: Partial<LaneState> & Beside = {},
): LaneState => ({
  ...createInitialState(id, noon),
  tasks: withChangedTasks(tasks, Object.keys({ ...answers, ...approvals }), (known, of) => ({
    ...known,
    answer: answers[of],
    approval: approvals[of],
  })),
  ...change,
});
/** Returns the state with the answers that it holds beside its tasks. */
const shown = (state: LaneState): LaneState & Beside => {
  const held = Object.entries(state.tasks).filter(([, { answer }]) => answer !== undefined);
  return {
    ...state,
    tasks: withChangedTasks(state.tasks, Object.keys(state.tasks), (known) => ({ ...known, answer: undefined })),
    answers: Object.fromEntries(held.map(([id, { answer }]) => [id, answer])),
  };
};
const notified = (kind: Notification['kind'], about: string, comment: number | null, at = noon): Notification => ({
  kind,
  about,
  thread: 1,
  comment,
  at,
});
const opened = (taskId: string | null, openedAt = noon): Partial<LaneState> => ({
  circuit: { kind: 'open', totalOpens: 1, reason: 'no_progress', openedAt, taskId },
});

describe('the issues that a run leaves waiting', () => {
  const own = lane('issue-1', {});
  test.each<[string, readonly WaitingIssue[], LaneState, LaneState, readonly object[]]>([
    ['nothing', [], own, lane('issue-1', { 'issue-1': working }), []],
    [
      'what became blocked',
      [],
      own,
      lane('issue-1', { 'issue-1': blocked }, { approvals: { 'issue-1': approval } }),
      [{ lane: 'issue-1', task: 'issue-1', progress: { ...blocked, approval }, notice: null, at: NOW }],
    ],
    [
      'with the comment that asks about it',
      [],
      own,
      lane(
        'issue-1',
        { 'issue-1': failed },
        { notified: [{ kind: 'failed', about: 'issue-1', thread: 1, comment: 9, at: NOW }] },
      ),
      [{ progress: failed, notice: { thread: 1, comment: 9, at: NOW } }],
    ],
    [
      'what opened the circuit, as set aside until the probe',
      [],
      own,
      lane(
        'issue-1',
        { 'issue-1': working },
        {
          ...opened('issue-1'),
          notified: [{ kind: 'circuit_open', about: 'lane-issue-1', thread: 1, comment: 9, at: NOW }],
        },
      ),
      [{ progress: aside(1, noon), notice: { thread: 1, comment: 9 } }],
    ],
    ['not a task of a file', [], lane('queue', {}), lane('queue', { 'plan-1': blocked }, opened('plan-1')), []],
    ['not what is done, whatever the circuit', [], own, lane('issue-1', { 'issue-1': done }, opened('issue-1')), []],
    [
      'not what was blocked before: who knows what became of it since',
      [],
      lane('queue', { 'issue-1': blocked }),
      lane('queue', { 'issue-1': blocked }),
      [],
    ],
    ['no longer what continues', [waits()], lane('issue-1', {}), lane('issue-1', { 'issue-1': working }), []],
    [
      'still what another lane left and this one did not work on',
      [waits()],
      lane('queue', { 'issue-1': blocked }, { answers: { 'issue-1': { lane: 'issue-1', at: noon } } }),
      lane('queue', { 'issue-1': blocked }, { answers: { 'issue-1': { lane: 'issue-1', at: noon } } }),
      [waits()],
    ],
    [
      'still what another lane left in the meantime',
      [waits()],
      lane('queue', { 'issue-1': working }),
      lane('queue', { 'issue-1': working }),
      [waits()],
    ],
    [
      'no more what was worked on here since',
      [waits()],
      lane('queue', { 'issue-1': aside(1, noon) }, { answers: { 'issue-1': { lane: 'issue-1', at: noon } } }),
      lane('queue', { 'issue-1': { ...working, attempts: 4 } }),
      [],
    ],
    [
      'the newest answer in place of the other one',
      [waits(), waits({ task: 'issue-2', lane: 'issue-2' })],
      lane('queue', { 'issue-1': aside(1, noon) }, { answers: { 'issue-1': { lane: 'issue-1', at: noon } } }),
      lane('queue', { 'issue-1': aside(2, NOW, 4) }),
      [{ task: 'issue-2' }, { lane: 'queue', task: 'issue-1', progress: aside(2, NOW, 4), at: NOW }],
    ],
    [
      'not again what a person asked for and this run did not get to',
      [waits({ isAsked: true })],
      lane('issue-1', { 'issue-1': working }, opened('issue-1')),
      lane('issue-1', { 'issue-1': working }, opened('issue-1')),
      [waits({ isAsked: true })],
    ],
    [
      'the same answer with the comment that came later',
      [waits()],
      lane('issue-1', { 'issue-1': blocked }),
      lane(
        'issue-1',
        { 'issue-1': blocked },
        { notified: [{ kind: 'blocked', about: 'issue-1', thread: 1, comment: 9, at: NOW }] },
      ),
      [{ progress: blocked, notice: { comment: 9 }, at: noon }],
    ],
    [
      'with the comment that asks about it, not one about something else or for another reason',
      [],
      own,
      lane(
        'issue-1',
        { 'issue-1': failed },
        {
          notified: [
            notified('failed', 'issue-1', 9),
            notified('failed', 'issue-2', 10),
            notified('needs_approval', 'issue-1', 11),
          ],
        },
      ),
      [{ notice: { comment: 9 } }],
    ],
    [
      'with the newest of several',
      [],
      own,
      lane(
        'issue-1',
        { 'issue-1': failed },
        { notified: [notified('failed', 'issue-1', 9), notified('failed', 'issue-1', 10)] },
      ),
      [{ notice: { comment: 10 } }],
    ],
    [
      'without one where none could be written',
      [],
      own,
      lane('issue-1', { 'issue-1': failed }, { notified: [notified('failed', 'issue-1', null)] }),
      [{ notice: null }],
    ],
    [
      "each of the queue's with its comment",
      [],
      lane('queue', {}),
      lane(
        'queue',
        { 'issue-1': failed, 'issue-2': failed },
        { notified: [notified('failed', 'issue-1', 9), notified('failed', 'issue-2', 10)] },
      ),
      [
        { task: 'issue-1', notice: { comment: 9 } },
        { task: 'issue-2', notice: { comment: 10 } },
      ],
    ],
    [
      'without one that asks about several: work on one must not hide what the other one asks',
      [],
      lane('queue', {}),
      lane(
        'queue',
        { 'issue-1': failed, 'issue-2': failed },
        { notified: [notified('failed', 'issue-1', 9), notified('failed', 'issue-2', 9)] },
      ),
      [
        { task: 'issue-1', notice: null },
        { task: 'issue-2', notice: null },
      ],
    ],
    [
      'with one that asks more on a branch of its own',
      [],
      own,
      lane(
        'issue-1',
        { 'issue-1': failed },
        { notified: [notified('failed', 'issue-1', 9), notified('halted', 'lane-issue-1', 9)] },
      ),
      [{ notice: { comment: 9 } }],
    ],
    [
      'what opened the circuit, with the comment about it and no other',
      [],
      own,
      lane(
        'issue-1',
        { 'issue-1': working },
        {
          ...opened('issue-1'),
          notified: [
            notified('circuit_open', 'lane-issue-1', 9),
            notified('ready', 'lane-issue-1', 10),
            notified('circuit_open', 'lane-queue', 11),
          ],
        },
      ),
      [{ notice: { comment: 9 } }],
    ],
    [
      'of several only what opened the circuit',
      [],
      lane('queue', {}),
      lane('queue', { 'issue-1': working, 'issue-2': working }, opened('issue-2')),
      [{ task: 'issue-2', progress: aside(1, noon) }],
    ],
    [
      'also one that has no progress yet',
      [],
      own,
      lane('issue-1', {}, opened('issue-1')),
      [{ progress: aside(1, noon, 0) }],
    ],
    ['nothing where no task opened it', [], own, lane('issue-1', { 'issue-1': working }, opened(null)), []],
    ['no longer what the lane does not know', [waits()], own, own, []],
    [
      'still what another lane left, although this one worked on it at the same time',
      [waits()],
      lane('queue', { 'issue-1': working }),
      lane('queue', { 'issue-1': { ...working, attempts: 4 } }),
      [waits()],
    ],
    [
      'still what another lane left and this one only opened again',
      [waits()],
      lane('queue', { 'issue-1': blocked }, { answers: { 'issue-1': { lane: 'issue-1', at: noon } } }),
      lane('queue', { 'issue-1': { ...working, attempts: 2 } }),
      [waits()],
    ],
    [
      'no comment that was settled since',
      [waits()],
      lane('issue-1', { 'issue-1': blocked }),
      lane('issue-1', { 'issue-1': blocked }, { notified: [notified('ready', 'lane-issue-1', 6)] }),
      [{ progress: blocked, notice: null, at: noon }],
    ],
    [
      'the comment about the circuit, as long as it is open',
      [waits()],
      lane('issue-1', { 'issue-1': aside(1, noon) }),
      lane('issue-1', { 'issue-1': aside(2, NOW, 4) }, { notified: [notified('circuit_open', 'lane-issue-1', 5)] }),
      [{ progress: aside(2, NOW, 4), notice: { comment: 5 }, at: NOW }],
    ],
  ])('%s', (_, waiting, before, after, expected) => {
    const settled = updateWaitingIssues(waiting, { before, after }, NOW);
    const shownOf = (one: WaitingIssue): object =>
      one.lane === after.lane && !one.isAsked ? (findAnswer(one, after) ?? one) : one;
    expect(settled.map(shownOf)).toMatchObject(expected);
    expect(settled).toHaveLength(expected.length);
    // Post may settle again what main has settled.
    expect(updateWaitingIssues(settled, { before, after }, NOW + MINUTE)).toBe(settled);
  });
});

test.each<[string, Partial<TaskProgress>]>([
  ['state', { state: 'blocked' }],
  ['reason', { reason: 'output_decline' }],
  ['attempts', { attempts: 4 }],
  ['times it was set aside', { setAside: { times: 2, at: noon } }],
  ['instant it was set aside', { setAside: { times: 1, at: NOW } }],
])('what stands otherwise than before the run is an answer, if only by its %s', (_, change) => {
  const progress = { ...aside(1, noon), ...change };
  const [before, after] = [lane('queue', { 'issue-1': aside(1, noon) }), lane('queue', { 'issue-1': progress })];
  const settled = updateWaitingIssues([], { before, after }, NOW);
  expect(settled.map((one) => findAnswer(one, after))).toMatchObject([{ task: 'issue-1', progress, at: NOW }]);
});

describe('a lane holds to the answers of others', () => {
  const known = { lane: 'issue-1', at: noon };
  const full = Array.from({ length: MAX_NOTIFICATIONS }, (_, i) =>
    notified('blocked', `issue-${String(i + 2)}`, i + 6),
  );
  test.each<[string, LaneState, readonly LaneAnswer[], Partial<LaneState> & Beside]>([
    ['none', lane('queue', { 'issue-1': working }), [], { tasks: { 'issue-1': working }, answers: {} }],
    [
      'of one: as it stands there it stands here, and nobody is notified again',
      lane('queue', {}),
      [answer()],
      {
        tasks: { 'issue-1': { ...blocked, approval } },
        answers: { 'issue-1': known },
        notified: [{ kind: 'blocked', about: 'issue-1', thread: 1, comment: 5, at: noon }],
      },
    ],
    [
      'of one that opened its circuit',
      lane('queue', {}),
      [answer({ progress: aside(1, noon) })],
      {
        tasks: { 'issue-1': aside(1, noon) },
        notified: [{ kind: 'stuck', about: 'issue-1', thread: 1, comment: 5, at: noon }],
      },
    ],
    [
      'in place of its own, but for where its own work began',
      lane('queue', { 'issue-1': { ...working, startedTree: 'tree' } }),
      [answer({ notice: null })],
      { tasks: { 'issue-1': { ...blocked, startedTree: 'tree', approval } }, notified: [] },
    ],
    ['not its own', lane('queue', {}), [answer({ lane: 'queue' })], { tasks: {}, answers: {} }],
    ['not what is done here', lane('queue', { 'issue-1': done }), [answer()], { tasks: { 'issue-1': done } }],
    [
      'on its own branch an issue that of the queue',
      lane('issue-1', {}),
      [answer({ lane: 'queue' })],
      { tasks: { 'issue-1': { ...blocked, approval } } },
    ],
    ['but not about other issues', lane('issue-2', {}), [answer()], { tasks: {}, answers: {} }],
    [
      'what a person made of it since stays',
      lane('queue', { 'issue-1': untouchedProgress }, { answers: { 'issue-1': known } }),
      [answer()],
      { tasks: { 'issue-1': untouchedProgress } },
    ],
    [
      'until there is a newer one',
      lane('queue', { 'issue-1': untouchedProgress }, { answers: { 'issue-1': known } }),
      [answer({ at: NOW, progress: failed })],
      { tasks: { 'issue-1': failed }, answers: { 'issue-1': { ...known, at: NOW } } },
    ],
    [
      'what a person asked for since is open, and was answered',
      lane('queue', {}),
      [answer({ progress: untouchedProgress })],
      {
        tasks: { 'issue-1': untouchedProgress },
        notified: [{ kind: 'stuck', about: 'issue-1', thread: 1, comment: 5, at: noon }],
      },
    ],
    [
      'also of its own',
      lane('queue', { 'issue-1': { ...blocked, startedTree: 'tree' } }),
      [answer({ lane: 'queue', progress: untouchedProgress, notice: null })],
      { tasks: { 'issue-1': { ...untouchedProgress, startedTree: 'tree' } } },
    ],
    [
      'what holds there no more is open again',
      lane('queue', { 'issue-1': { ...blocked, startedTree: 'tree' } }, { answers: { 'issue-1': known } }),
      [],
      { tasks: { 'issue-1': { ...untouchedProgress, startedTree: 'tree' } }, answers: {} },
    ],
    [
      'and of the others stays what a person made of them',
      lane(
        'queue',
        { 'issue-1': untouchedProgress, 'issue-2': blocked },
        { answers: { 'issue-1': known, 'issue-2': { ...known, lane: 'issue-2' } } },
      ),
      [answer()],
      { tasks: { 'issue-1': untouchedProgress, 'issue-2': untouchedProgress }, answers: { 'issue-1': known } },
    ],
    [
      'a comment that is known here is not another one',
      lane('queue', {}, { notified: [notified('blocked', 'issue-1', 5)] }),
      [answer()],
      { notified: [notified('blocked', 'issue-1', 5)] },
    ],
    [
      'but what it asks of another issue is another matter',
      lane('queue', {}, { notified: [notified('blocked', 'issue-2', 5)] }),
      [answer()],
      { notified: [notified('blocked', 'issue-1', 5), notified('blocked', 'issue-2', 5)] },
    ],
    [
      'an older comment about that issue alone gives way',
      lane('queue', {}, { notified: [notified('blocked', 'issue-1', 4), notified('blocked', 'issue-2', 3)] }),
      [answer()],
      { notified: [notified('blocked', 'issue-1', 5), notified('blocked', 'issue-2', 3)] },
    ],
    [
      'one that asks more does not',
      lane('queue', {}, { notified: [notified('blocked', 'issue-1', 4), notified('blocked', 'issue-2', 4)] }),
      [answer({ notice: null })],
      { notified: [notified('blocked', 'issue-1', 4), notified('blocked', 'issue-2', 4)] },
    ],
    [
      'nor one that asks for approval',
      lane('queue', {}, { notified: [notified('needs_approval', 'issue-1', 4)] }),
      [answer({ notice: null })],
      { notified: [notified('needs_approval', 'issue-1', 4)] },
    ],
    [
      "one about the circuit of the issue's own branch is about the issue; others stay what they are",
      lane(
        'queue',
        {},
        {
          notified: [
            notified('circuit_open', 'lane-issue-1', 4),
            notified('ready', 'lane-issue-1', 3),
            notified('circuit_open', 'lane-issue-2', 2),
          ],
        },
      ),
      [answer({ notice: null })],
      {
        notified: [
          notified('stuck', 'issue-1', 4),
          notified('ready', 'lane-issue-1', 3),
          notified('circuit_open', 'lane-issue-2', 2),
        ],
      },
    ],
    [
      'the comment that is known of it already stays what it is',
      lane('queue', {}, { notified: [notified('circuit_open', 'lane-issue-1', 5)] }),
      [answer({ progress: aside(1, noon) })],
      { notified: [notified('stuck', 'issue-1', 5), notified('circuit_open', 'lane-issue-1', 5)] },
    ],
    [
      'a full memory keeps what it holds',
      lane('queue', {}, { notified: full }),
      [answer()],
      { tasks: { 'issue-1': { ...blocked, approval } }, notified: full },
    ],
  ])('%s', (_, state, waiting, expected) => {
    const held = withAnswers(state, waiting, []);
    expect(shown(held)).toEqual({ ...shown(held), ...expected });
    expect(withAnswers(held, waiting, [])).toEqual(held);
  });
});

describe('of an issue that is worked on a branch of its own, the queue takes no answer', () => {
  test.each<[string, Partial<LaneAnswer>, Notification, readonly Notification[]]>([
    ['and leaves its comment to that branch', {}, notified('blocked', 'issue-1', 5), []],
    ['but keeps a comment of its own', {}, notified('blocked', 'issue-1', 4), [notified('blocked', 'issue-1', 4)]],
    [
      'and what the same comment asks of another issue',
      {},
      notified('blocked', 'issue-2', 5),
      [notified('blocked', 'issue-2', 5)],
    ],
    [
      'and what its own run has asked',
      { lane: 'queue' },
      notified('blocked', 'issue-1', 5),
      [notified('blocked', 'issue-1', 5)],
    ],
  ])('%s', (_, change, one, expected) => {
    const held = withAnswers(lane('queue', {}, { notified: [one] }), [answer(change)], ['issue-1']);
    expect(held).toMatchObject({ tasks: {}, notified: expected });
  });
});

test('of several comments the queue leaves only what the branches of their own have', () => {
  const [theirs, others, unknown] = [
    notified('blocked', 'issue-1', 5),
    notified('blocked', 'issue-3', 6),
    notified('blocked', 'issue-4', 7),
  ];
  const waiting = [answer(), answer({ lane: 'issue-4', task: 'issue-4', notice: null })];
  const state = lane('queue', {}, { notified: [theirs, others, unknown] });
  expect(withAnswers(state, waiting, ['issue-1', 'issue-4']).notified).toEqual([others, unknown]);
});

describe('a stored comment still asks somebody', () => {
  const stored = notified('blocked', 'issue-1', 5, noon);
  const answered = (at: number): LaneState['tasks'] => ({
    'issue-1': { ...untouchedProgress, answer: { lane: 'issue-1', at } },
  });
  test.each<[string, readonly Notification[], LaneState['tasks'], boolean]>([
    ['where nobody else has answered', [], {}, true],
    ['where the state that holds to the answers holds it', [stored], answered(NOW), true],
    ['not where a newer answer has settled it', [], answered(NOW), false],
    ['nor where that holds another comment about it', [notified('blocked', 'issue-1', 4)], answered(NOW), false],
    ['nor where that holds what it asks of another issue', [notified('blocked', 'issue-2', 5)], answered(NOW), false],
    ['where it came with the answer', [], answered(noon), true],
    ['where it came since', [], answered(noon - 1), true],
  ])('%s', (_, held, tasks, expected) => {
    expect(listUnansweredComments([stored], { notified: held, tasks })).toEqual(expected ? [stored] : []);
  });
});

describe('the approved text from the last work on an issue', () => {
  const other = { ...approval, text: 'b'.repeat(32) };
  test.each<[string, TaskProgress['approval'], TaskProgress['approval'], object | undefined]>([
    ['is known here', approval, undefined, approval],
    ['is what another branch knows', undefined, other, other],
    ['is the newer one, which another branch knows', approval, other, other],
    ['is known nowhere', undefined, undefined, undefined],
  ])('%s', (_, own, theirs, expected) => {
    const state = lane('queue', { 'issue-1': { ...untouchedProgress, approval: own } });
    const held = withAnswers(state, [answer({ progress: { ...blocked, approval: theirs } })], []);
    expect(held.tasks['issue-1']?.approval).toEqual(expected);
  });
});

describe('in the document', () => {
  const fullOfWaiting = (): readonly WaitingIssue[] => {
    const many = Array.from({ length: 2 * MAX_WAITING }, (_, index) =>
      lane(`issue-${String(index)}`, { [`issue-${String(index)}`]: blocked }),
    );
    return many.reduce<readonly WaitingIssue[]>(
      (all, after) => updateWaitingIssues(all, { before: createInitialState(after.lane, noon), after }, NOW),
      [],
    );
  };

  test('there is room for this many; the newest stay', () => {
    const waiting = fullOfWaiting();
    expect(waiting).toHaveLength(MAX_WAITING);
    expect(waiting.at(-1)?.task).toBe(`issue-${String(2 * MAX_WAITING - 1)}`);
    const kept = withWaiting(emptySnapshot, waiting);
    expect(kept.get('issues/150.json')).toContain('"task": "issue-150"');
    expect(listWaitingIssues(kept)).toEqual(waiting);
  });

  test('what a person asks for is open again, and what they were notified of is known', () => {
    const waiting = fullOfWaiting();
    const kept = withWaiting(emptySnapshot, waiting);
    const asked = withAskedTasks(kept, ['issue-150'], NOW + 1);
    const before = waiting.find(({ task }) => task === 'issue-150');
    const now = listWaitingIssues(asked).find(({ task }) => task === 'issue-150');
    expect(now).toEqual({ ...before, isAsked: true, at: NOW + 1 });
    expect(listWaitingIssues(asked).filter(({ isAsked }) => !isAsked)).toHaveLength(MAX_WAITING - 1);
    const state = lane(
      'issue-150',
      { 'issue-150': { ...blocked, approval } },
      { notified: [notified('blocked', 'issue-150', 5)] },
    );
    expect(now && findAnswer(now, state)).toEqual({
      ...{ lane: 'issue-150', task: 'issue-150', at: NOW + 1 },
      ...{ progress: { ...untouchedProgress, approval }, notice: { thread: 1, comment: 5, at: noon } },
    });
    expect(withAskedTasks(asked, ['issue-150'], NOW + 2)).toBe(asked);
    expect(withAskedTasks(kept, ['issue-1'], NOW)).toBe(kept);
  });
});
