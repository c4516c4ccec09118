import { describe, expect, test } from 'vitest';
import { isOutOfRounds } from '../../../../../src/core/feedback/unproven.ts';
import { describeIgnoredChecks } from '../../../../../src/core/feedback/checks/checks.ts';
import { feedbackSchema, noFeedback, type Feedback } from '../../../../../src/core/feedback/memory.ts';
import {
  setAnswer,
  beginRound,
  resetRounds,
  mergeSubjects,
  type CurrentSubjects,
} from '../../../../../src/core/feedback/rounds.ts';
import { untouchedProgress } from '../../../../../src/core/tasks/queue.ts';

/** Returns the feedback for entries such as `bot 11` or `person 12`: the author, and the id of thread and comment. */
function found(asked: readonly string[], change: Partial<CurrentSubjects> = {}): CurrentSubjects {
  return {
    subjects: asked.map((words) => {
      const [who, thread = '', comment = thread] = words.split(' ');
      const subject = { id: `thread-${thread}`, kind: 'thread', title: words, url: null, asked: comment } as const;
      return who === 'bot' ? { ...subject, isByBot: true } : subject;
    }),
    isUndecided: () => false,
    personHead: null,
    maxRounds: 3,
    ...change,
  };
}

/** Plays a run that answers everything that it may answer. Returns the memory, and the feedback left to a person. */
function run(feedback: Feedback, asked: CurrentSubjects): readonly [Feedback, readonly string[]] {
  const taken = mergeSubjects({ feedback, tasks: {} }, asked);
  const next = taken.open
    .filter((id) => !taken.spent.includes(id))
    .reduce((memory, id) => {
      const answer = { kind: 'changed', commit: 'c1', words: null, isOurs: false, at: 1 } as const;
      return setAnswer(beginRound(memory, id, untouchedProgress), id, answer);
    }, taken.feedback);
  return [next, taken.spent];
}

/** Returns the feedback that each run leaves to a person. */
function spentIn(runs: readonly CurrentSubjects[]): readonly (readonly string[])[] {
  let feedback = noFeedback;
  return runs.map((asked) => {
    const [next, spent] = run(feedback, asked);
    feedback = next;
    return spent;
  });
}

describe('what bots ask is bounded on the pull request', () => {
  test.each<[string, readonly CurrentSubjects[], readonly (readonly string[])[]]>([
    [
      'a new thread after every push',
      [found(['bot 1']), found(['bot 2']), found(['bot 3']), found(['bot 4'])],
      [[], [], [], ['thread-4']],
    ],
    [
      'more words in one thread',
      [found(['bot 1 11']), found(['bot 1 12']), found(['bot 1 13']), found(['bot 1 14'])],
      [[], [], [], ['thread-1']],
    ],
    [
      'two bots together',
      [found(['bot 1']), found(['bot 2']), found(['bot 3']), found(['bot 4', 'bot 5'])],
      [[], [], [], ['thread-4', 'thread-5']],
    ],
    ['one review with many threads is one round', [found(['bot 1', 'bot 2', 'bot 3', 'bot 4'])], [[]]],
    [
      'a push of a person begins again',
      [found(['bot 1']), found(['bot 2']), found(['bot 3']), found(['bot 4'], { personHead: 'p1' })],
      [[], [], [], []],
    ],
    [
      'people are counted by thread',
      [found(['person 1']), found(['person 2']), found(['person 3']), found(['person 4']), found(['person 5'])],
      [[], [], [], [], []],
    ],
    [
      'a person who asks in the thread of a bot is not counted as the bot',
      [found(['bot 1 11']), found(['bot 1 12']), found(['bot 1 13']), found(['person 1 14']), found(['person 1 15'])],
      [[], [], [], [], []],
    ],
    [
      'no limit',
      Array.from({ length: 9 }, (_, id) => found([`bot ${String(id + 1)}`], { maxRounds: 0 })),
      Array.from({ length: 9 }, () => []),
    ],
  ])('%s', (_, runs, expected) => {
    expect(spentIn(runs)).toEqual(expected);
  });

  test('what waits since an earlier round keeps its turn', () => {
    const first = mergeSubjects({ feedback: noFeedback, tasks: {} }, found(['bot 1', 'bot 2'], { maxRounds: 1 }));
    const begun = beginRound(first.feedback, 'thread-1', untouchedProgress);
    const later = mergeSubjects({ feedback: begun, tasks: {} }, found(['bot 2', 'bot 3'], { maxRounds: 1 }));
    expect(later.spent).toEqual(['thread-3']);
  });

  test('a person who has one tried again gives the pull request its rounds again', () => {
    const memory: Feedback = { ...noFeedback, botRounds: 3 };
    expect(resetRounds(memory, 'thread-9').botRounds).toBeUndefined();
    expect(run(resetRounds(memory, 'thread-9'), found(['bot 9']))[1]).toEqual([]);
  });

  test('earlier states count none', () => {
    expect(feedbackSchema.parse({ personHead: null, items: {}, rounds: [], unstarted: null })).toEqual(noFeedback);
  });

  test.each([
    [{ rounds: 3 }, 3, true],
    [{ rounds: 2 }, 3, false],
    [{ rounds: 9, botRound: 3 }, 3, false],
    [{ rounds: 0, botRound: 4 }, 3, true],
    [{ rounds: 9, botRound: 9 }, 0, false],
  ])('%j of %i is out of rounds: %s', (item, max, expected) => {
    expect(isOutOfRounds(item, max)).toBe(expected);
  });
});

test.each([
  [{ alsoOnBase: ['test'] }, 'Failed checks are ignored because they also fail on the base branch: "test".'],
  [{ flaky: ['a', 'b'] }, 'Flaky checks are ignored because they passed and failed on the same commit: "a", "b".'],
  [{ unreadable: 'GitHub is away.' }, 'The checks of the pull request could not be read. GitHub is away.'],
  [{ alsoOnBase: [`x\n::error::${'y'.repeat(200)}`] }, /^[^\n]{1,160}$/],
  [{}, ''],
])('why failed checks start no work: %j', (change, expected) => {
  const nothing = { counts: null, alsoOnBase: [], flaky: [], waiting: [], unstarted: false, unreadable: null, runs: 0 };
  const words = describeIgnoredChecks({ ...nothing, ...change });
  if (typeof expected === 'string') expect(words).toBe(expected);
  else expect(words).toMatch(expected);
});
