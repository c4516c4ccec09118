import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Feedback,
  type FeedbackItem,
  MAX_ITEMS,
  MAX_EARLIER_ANSWERS,
  noFeedback,
  withEarlierAnswers,
} from '../../../../src/core/feedback/memory.ts';
import {
  addRound,
  setAnswer,
  beginRound,
  forgetFeedback,
  resetRounds,
  markPosted,
  subjectOfTask,
  mergeSubjects,
  type CurrentSubjects,
  type FeedbackMemory,
} from '../../../../src/core/feedback/rounds.ts';
import { isFeedback, type FeedbackSubject } from '../../../../src/core/feedback/subject.ts';
import { getProgress, untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import { isSettled, type TaskProgress } from '../../../../src/core/tasks/task.ts';
import { task } from '../core-fixtures.ts';

const item: FeedbackItem = {
  kind: 'thread',
  title: 'Ada on src/a.js:12',
  url: 'https://example.test/1',
  rounds: 1,
  asked: '10',
  answer: null,
};
const changed: NonNullable<FeedbackItem['answer']> = {
  kind: 'changed',
  commit: 'c1',
  words: 'Renamed it.',
  isOurs: false,
  at: 1,
  posted: true,
};
const check: FeedbackItem = { ...item, kind: 'check', asked: 'h1' };
const [THREAD, CHECK] = ['thread-1', 'check-0123456789ab'];
const working: TaskProgress = { ...untouchedProgress, state: 'in-progress', attempts: 2 };
/** A task with a change made without a call, which has not passed yet. */
const suggested: TaskProgress = { ...untouchedProgress, state: 'in-progress' };
const done: TaskProgress = { ...untouchedProgress, state: 'done', attempts: 2 };
const failed: TaskProgress = { ...untouchedProgress, state: 'failed', attempts: 8, reason: 'max_iterations_per_task' };
const spent: TaskProgress = { ...untouchedProgress, state: 'blocked', reason: 'feedback_rounds' };

function remembered(items: Feedback['items'], tasks: FeedbackMemory['tasks'] = {}): FeedbackMemory {
  return { feedback: { ...noFeedback, items }, tasks };
}

function found(asked: Readonly<Record<string, string>>, change: Partial<CurrentSubjects> = {}): CurrentSubjects {
  return {
    subjects: Object.entries(asked).map(([id, by]) => ({
      id,
      kind: id === CHECK ? 'check' : 'thread',
      title: item.title,
      url: item.url,
      asked: by,
    })),
    isUndecided: () => false,
    personHead: null,
    maxRounds: 3,
    ...change,
  };
}

describe('a thread', () => {
  test.each<
    [string, FeedbackItem | null, TaskProgress, string | null, Partial<FeedbackItem> | null, TaskProgress, boolean]
  >([
    ['that is new is open', null, untouchedProgress, '10', { rounds: 0, answer: null }, untouchedProgress, true],
    ['that nobody has worked on stays open', item, untouchedProgress, '10', item, untouchedProgress, true],
    ['that is worked on continues', item, working, '10', item, working, true],
    ['that was given up stays so', item, failed, '10', item, failed, true],
    [
      'whose change did not pass is open still, as the same round',
      { ...item, rounds: 3, answer: { ...changed, posted: false } },
      suggested,
      '10',
      { rounds: 3, answer: { ...changed, posted: false } },
      suggested,
      true,
    ],
    ['that has its answer is not open', { ...item, answer: changed }, done, '10', { answer: changed }, done, false],
    [
      'that is asked again is open again',
      { ...item, answer: changed },
      done,
      '11',
      { rounds: 1, asked: '11', answer: null },
      untouchedProgress,
      true,
    ],
    [
      'in which more is said while it is worked on begins again',
      item,
      working,
      '11',
      { rounds: 1, asked: '11' },
      untouchedProgress,
      true,
    ],
    [
      'that was done by a run which was lost before its answer begins again',
      item,
      done,
      '10',
      item,
      untouchedProgress,
      true,
    ],
    [
      'whose work has no answer keeps its commit, whatever more is said',
      { ...item, workedIn: 'c1' },
      working,
      '11',
      { asked: '11', workedIn: 'c1' },
      untouchedProgress,
      true,
    ],
    [
      'that is asked again after an answer has no commit of it',
      { ...item, answer: { ...changed, posted: false }, workedIn: 'c1' },
      working,
      '11',
      { asked: '11', workedIn: undefined },
      untouchedProgress,
      true,
    ],
    ['that nobody asks for is forgotten', item, working, null, null, untouchedProgress, false],
    ['that was answered is remembered', { ...item, answer: changed }, done, null, { answer: changed }, done, false],
  ])('%s', (_, before, then, asked, expected, now, isOpen) => {
    const taken = mergeSubjects(
      remembered(before === null ? {} : { [THREAD]: before }, then === untouchedProgress ? {} : { [THREAD]: then }),
      found(asked === null ? {} : { [THREAD]: asked }),
    );
    if (expected === null) expect(taken.feedback.items).toEqual({});
    else expect(taken.feedback.items[THREAD]).toMatchObject(expected);
    expect(getProgress(taken.tasks, THREAD)).toEqual(now);
    expect(taken.open).toEqual(isOpen ? [THREAD] : []);
  });
});

describe('a check', () => {
  test.each<[string, FeedbackItem, TaskProgress, string, TaskProgress, boolean]>([
    ['that fails on the same commit as before is answered', { ...check, answer: changed }, done, 'h1', done, false],
    ['that fails on a newer one is asked again', { ...check, answer: changed }, done, 'h2', untouchedProgress, true],
    ['that is worked on and fails on a newer one continues', check, working, 'h2', working, true],
    ['that was given up gets another look on a newer one', check, failed, 'h2', untouchedProgress, true],
  ])('%s', (_, before, then, asked, now, isOpen) => {
    const taken = mergeSubjects(remembered({ [CHECK]: before }, { [CHECK]: then }), found({ [CHECK]: asked }));
    expect(getProgress(taken.tasks, CHECK)).toEqual(now);
    expect(taken.open).toEqual(isOpen ? [CHECK] : []);
    expect(taken.feedback.items[CHECK]?.rounds).toBe(1);
  });

  const givenUp: FeedbackItem = { ...check, rounds: 3, answer: { ...changed, kind: 'given-up' } };
  test.each<[string, Readonly<Record<string, TaskProgress>>, TaskProgress]>([
    ['stays with them as long as it is asked', { [CHECK]: failed }, failed],
    ['stays with them although it is not known how it ended', {}, { ...spent, reason: 'status_blocked' }],
  ])('that a person must decide %s', (_, then, now) => {
    const taken = mergeSubjects(remembered({ [CHECK]: givenUp }, then), found({ [CHECK]: 'h1' }));
    expect(taken).toMatchObject({ open: [CHECK], spent: [CHECK], feedback: { items: { [CHECK]: givenUp } } });
    expect(getProgress(taken.tasks, CHECK)).toEqual(now);
  });

  test.each<[string, FeedbackItem, boolean, boolean]>([
    ['that a person has fixed since is no longer for a person', givenUp, false, false],
    ['that a person may have fixed stays with them', givenUp, true, true],
    ['that we fixed is remembered', { ...check, answer: changed }, false, true],
    ['that needed no change is remembered', { ...check, answer: { ...changed, kind: 'unchanged' } }, false, true],
  ])('%s', (_, before, isUndecided, isKept) => {
    const taken = mergeSubjects(
      remembered({ [CHECK]: before }, { [CHECK]: failed }),
      found({}, { isUndecided: () => isUndecided }),
    );
    expect(taken.feedback.items).toEqual(isKept ? { [CHECK]: before } : {});
    expect(getProgress(taken.tasks, CHECK)).toEqual(isKept ? failed : untouchedProgress);
    expect(taken.open).toEqual([]);
  });

  test('that runs again is remembered with its rounds, as what else nobody can say', () => {
    const before = remembered({ [CHECK]: check, [THREAD]: item }, { [CHECK]: working, [THREAD]: working });
    const taken = mergeSubjects(before, found({}, { isUndecided: (id, kind) => id === CHECK && kind === 'check' }));
    expect(taken).toEqual({ ...remembered({ [CHECK]: check }, { [CHECK]: working }), open: [], spent: [] });
  });
});

describe('rounds', () => {
  const used = { ...item, rounds: 3 };
  test.each<[string, FeedbackItem, TaskProgress, string, Partial<CurrentSubjects>, TaskProgress, boolean]>([
    ['that are used up are the end', { ...used, answer: changed }, done, '11', {}, spent, true],
    ['stay used up', used, spent, '10', {}, spent, true],
    ['stay used up when more is said', used, spent, '11', {}, spent, true],
    [
      'have no end where there is no limit',
      { ...used, answer: changed },
      done,
      '11',
      { maxRounds: 0 },
      untouchedProgress,
      false,
    ],
    [
      'are as many as the input says',
      { ...used, answer: changed },
      done,
      '11',
      { maxRounds: 4 },
      untouchedProgress,
      false,
    ],
    ['continue where the input says more than then', used, spent, '10', { maxRounds: 4 }, untouchedProgress, false],
    ['that have begun go on to their end', used, working, '10', {}, working, false],
    ['begin again when a person pushes', used, spent, '10', { personHead: 'p1' }, untouchedProgress, false],
  ])('%s', (_, before, then, asked, change, now, isSpent) => {
    const taken = mergeSubjects(
      remembered({ [THREAD]: before }, { [THREAD]: then }),
      found({ [THREAD]: asked }, change),
    );
    expect(getProgress(taken.tasks, THREAD)).toEqual(now);
    expect(taken.spent).toEqual(isSpent ? [THREAD] : []);
    expect(taken.open).toEqual([THREAD]);
  });

  test('are counted from the newest push of a person, once', () => {
    const items = { [THREAD]: used, 'thread-2': { ...used, answer: changed } };
    const taken = mergeSubjects(remembered(items), found({ [THREAD]: '10' }, { personHead: 'p1' }));
    expect(Object.values(taken.feedback.items).map(({ rounds }) => rounds)).toEqual([0, 0]);
    expect(taken.feedback.personHead).toBe('p1');
    const worked = { ...taken, feedback: beginRound(taken.feedback, THREAD, untouchedProgress) };
    const again = mergeSubjects(worked, found({ [THREAD]: '10' }, { personHead: 'p1' }));
    expect(again.feedback.items[THREAD]?.rounds).toBe(1);
    expect(mergeSubjects(again, found({ [THREAD]: '10' })).feedback.personHead).toBe('p1');
  });

  test('begin with the first iteration', () => {
    const { feedback } = remembered({ [THREAD]: item });
    expect(beginRound(feedback, THREAD, untouchedProgress).items[THREAD]?.rounds).toBe(2);
    expect(beginRound(feedback, THREAD, working)).toBe(feedback);
    expect(beginRound(feedback, 'thread-9', untouchedProgress)).toBe(feedback);
  });

  test('are given again by a person, who has CI looked at once more', () => {
    const items = { [THREAD]: { ...used, answer: changed }, [CHECK]: { ...check, answer: changed } };
    const before = remembered(items).feedback;
    const after = resetRounds(resetRounds(before, THREAD), CHECK);
    expect(after.items).toEqual({ [THREAD]: { ...items[THREAD], rounds: 0 }, [CHECK]: { ...check, rounds: 0 } });
  });
});

describe('the memory', () => {
  test('keeps answers until people can read them', () => {
    const open = remembered({ [THREAD]: item, 'thread-2': item }).feedback;
    const words = { ...changed, words: 'x'.repeat(900) };
    const answered = setAnswer(setAnswer(open, THREAD, words), 'thread-9', words);
    expect(answered.items).toEqual({
      [THREAD]: { ...item, answer: { ...changed, words: `${'x'.repeat(499)}…`, posted: false } },
      'thread-2': item,
    });
    const posted = markPosted(answered, [THREAD, 'thread-2', 'thread-9']);
    expect(posted.items[THREAD]?.answer?.posted).toBe(true);
    expect(posted.items['thread-2']).toEqual(item);
  });

  test('keeps the newest ten rounds', () => {
    const round = { at: 1, head: 'h', asked: 1, answered: 1, checks: null };
    const feedback = Array.from({ length: 12 }, (_, at) => at).reduce(
      (next, at) => addRound(next, { ...round, at }),
      noFeedback,
    );
    expect(feedback.rounds.map(({ at }) => at)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  test('has an end, and what is open is in it', () => {
    const answered = Object.fromEntries(
      Array.from({ length: 110 }, (_, id) => [`thread-${String(id + 1)}`, { ...item, answer: changed }]),
    );
    const asked = Object.fromEntries(Array.from({ length: 200 }, (_, id) => [`thread-${String(id + 1001)}`, '10']));
    const taken = mergeSubjects(remembered(answered), found(asked));
    expect(Object.keys(taken.feedback.items)).toHaveLength(MAX_ITEMS);
    expect(taken.open).toHaveLength(MAX_ITEMS);
    expect(taken.open.every((id) => Object.hasOwn(taken.feedback.items, id))).toBe(true);
  });

  test('keeps titles and addresses that are not too long', () => {
    const subject = { id: THREAD, kind: 'thread', asked: '10' } as const;
    const subjects = [{ ...subject, title: 'x'.repeat(200), url: `https://example.test/${'x'.repeat(300)}` }];
    const taken = mergeSubjects(remembered({}), found({}, { subjects })).feedback.items[THREAD];
    expect(taken).toMatchObject({ title: `${'x'.repeat(119)}…`, url: null });
  });

  test('is nothing when the branch begins again', () => {
    const before = remembered({ [THREAD]: item }, { [THREAD]: working, 'issue-1': done });
    expect(forgetFeedback(before)).toEqual({ feedback: noFeedback, tasks: { 'issue-1': done } });
  });
});

test.each<[string, Partial<typeof changed>, number]>([
  ['was resolved: its rounds begin again', { posted: true }, 0],
  ['was merged, but is not verified: its rounds count on', { posted: false }, 2],
])('a conflict with a newer base after one that %s', (_, answer, rounds) => {
  const id = 'conflict-0123456789ab';
  const before: FeedbackItem = { ...item, kind: 'conflict', asked: 'b1', rounds: 2, answer: { ...changed, ...answer } };
  const subjects = [{ id, kind: 'conflict', title: item.title, url: item.url, asked: 'b2' }] as const;
  const now = mergeSubjects(remembered({ [id]: before }, { [id]: working }), found({}, { subjects }));
  expect(now.feedback.items[id]?.rounds).toBe(rounds);
});

test.each<[FeedbackSubject, string]>([
  [{ kind: 'thread', thread: 'T', replyTo: 1, asked: 3, by: 'Ada', path: 'a', line: 1, suggestion: null }, '3'],
  [{ kind: 'review', review: 7, by: 'Ada' }, '7'],
  [{ kind: 'check', name: 'test', head: 'h1' }, 'h1'],
  [{ kind: 'conflict', branch: 'main', base: 'b1' }, 'b1'],
])('the requester is named: %j', (on, asked) => {
  const one = task(1, {
    id: 'thread-1',
    source: { kind: 'feedback', on, pullRequest: 5, url: 'https://example.test/5' },
  });
  expect(subjectOfTask(one)).toEqual({
    id: 'thread-1',
    kind: on.kind,
    title: 'Title 1',
    url: 'https://example.test/5',
    asked,
  });
  expect(subjectOfTask(task(1))).toBeNull();
});

interface Step {
  readonly asking: { readonly asked: Readonly<Record<string, string>>; readonly undecided: readonly string[] };
  /** Ids of the tasks of the iterations, and whether each finishes its task. */
  readonly work: readonly (readonly [string, boolean])[];
}

describe('whatever is asked and done', () => {
  const ids = ['thread-1', 'thread-2', 'review-3', CHECK];
  const asking = fc.record({
    asked: fc.dictionary(fc.constantFrom(...ids), fc.constantFrom('1', '2', '3', '4')),
    undecided: fc.subarray(ids),
  });
  const step = fc.record({ asking, work: fc.array(fc.tuple(fc.constantFrom(...ids), fc.boolean())) });

  test('to take it in again changes nothing', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 6 }),
        asking,
        fc.option(fc.constantFrom('p1', 'p2')),
        (steps, last, personHead) => {
          const before = steps.reduce((state, one) => played(state, one, 2), remembered({}));
          const now = found(last.asked, { isUndecided: (id) => last.undecided.includes(id), personHead, maxRounds: 2 });
          const once = mergeSubjects(before, now);
          expect(mergeSubjects(once, now)).toEqual(once);
        },
      ),
    );
  });

  test('no complaint has more rounds than it may, unless a person pushes or CI passes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.integer({ min: 1, max: 3 }), (steps, maxRounds) => {
        const end = steps.reduce((state, one) => played(state, one, maxRounds), remembered({}));
        for (const { rounds } of Object.values(end.feedback.items)) expect(rounds).toBeLessThanOrEqual(maxRounds);
        expect(Object.keys(end.tasks).every(isFeedback)).toBe(true);
      }),
    );
  });

  /** Plays a run on the open tasks as the loop would: each entry of `work` is an iteration, finished or not. */
  function played(
    before: FeedbackMemory,
    { asking: { asked, undecided }, work }: Step,
    maxRounds: number,
  ): FeedbackMemory {
    const taken = mergeSubjects(before, found(asked, { isUndecided: (id) => undecided.includes(id), maxRounds }));
    let { feedback, tasks }: FeedbackMemory = taken;
    for (const [id, isDone] of work) {
      const then = getProgress(tasks, id);
      if (!taken.open.includes(id) || isSettled(then)) continue;
      feedback = beginRound(feedback, id, then);
      tasks = { ...tasks, [id]: { ...then, state: isDone ? 'done' : 'in-progress', attempts: then.attempts + 1 } };
      if (isDone) feedback = setAnswer(feedback, id, changed);
    }
    return { feedback, tasks };
  }
});

describe('earlier attempts', () => {
  const answered = { ...check, answer: { ...changed, commit: 'c1', words: 'Fixed it.' } };
  const asked = (before: FeedbackItem, by: string, change: Partial<CurrentSubjects> = {}): FeedbackItem | undefined =>
    mergeSubjects(remembered({ [CHECK]: before }, { [CHECK]: done }), found({ [CHECK]: by }, change)).feedback.items[
      CHECK
    ];

  test('is kept when the same is asked again, the newest last, as far as the rounds are counted', () => {
    const second = asked(answered, 'h2');
    expect(second).toMatchObject({ answer: null, tried: [{ commit: 'c1', words: 'Fixed it.' }] });
    const again = { ...answered, asked: 'h2', tried: second?.tried ?? [], answer: { ...changed, commit: 'c2' } };
    expect(asked(again, 'h3')?.tried).toEqual([
      { commit: 'c1', words: 'Fixed it.' },
      { commit: 'c2', words: 'Renamed it.' },
    ]);
    const tried = Array.from({ length: MAX_EARLIER_ANSWERS }, (_, at) => ({ commit: `c${String(at)}`, words: null }));
    expect(asked({ ...again, tried }, 'h3')?.tried).toEqual([
      ...tried.slice(1),
      { commit: 'c2', words: 'Renamed it.' },
    ]);
  });

  test('stays as it is while the same stands, and is forgotten when a person pushes', () => {
    const tried = [{ commit: 'c0', words: null }];
    expect(asked({ ...answered, tried, answer: null }, 'h1')?.tried).toEqual(tried);
    expect(asked({ ...answered, tried }, 'h2', { personHead: 'p1' })).not.toHaveProperty('tried');
  });

  test('goes along with the task, on lines of their own', () => {
    const tried = [
      { commit: 'c1', words: 'Fixed\n# it.' },
      { commit: null, words: null },
    ];
    expect(withEarlierAnswers({ body: 'Log' }, { tried }).body).toBe(
      'Log\n\nEarlier answers, which were not enough:\n- changed in commit c1: Fixed # it.\n- nothing was changed',
    );
    expect(withEarlierAnswers({ body: 'Log' }, {}).body).toBe('Log');
  });
});
