import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isUndecidedCheck,
  isUnknownOnBase,
  judgeChecks,
  taskIdOfCheck,
  areChecksUnstarted,
} from '../../../../src/core/feedback/checks/checks.ts';
import { selectChecksToRead } from '../../../../src/core/feedback/memory.ts';
import type { CheckNow } from '../../../../src/core/feedback/pull-request-now.ts';
import { isFeedback } from '../../../../src/core/feedback/subject.ts';
import { MINUTE } from '../core-fixtures.ts';
import { check, status } from './check-fixtures.ts';

const own = { workflow: '.github/workflows/ralph.yml', run: 7 };
const passed = { result: 'passed', conclusion: 'success' } as const;
const running = { result: 'running', conclusion: '' } as const;
const forPullRequest: Partial<CheckNow> = {
  workflow: { path: '.github/workflows/ci.yml', name: 'CI', run: 101, event: 'pull_request' },
};
const ours = { path: own.workflow, name: 'Ralph', run: 3, event: 'push' };

/** Returns each judgement with the names of its checks. */
function judged(head: readonly CheckNow[], base: readonly CheckNow[] = []): object {
  const { passed: all, ...groups } = judgeChecks({ head, base }, own);
  const named = Object.entries(groups).map(([kind, checks]) => [kind, checks.map(({ name }) => name)] as const);
  return {
    ...Object.fromEntries(named.filter(([, names]) => names.length > 0)),
    ...(all.length > 0 ? { passed: all.length } : {}),
  };
}

describe('a failed check of the head is worked on', () => {
  test.each<[string, readonly CheckNow[], readonly CheckNow[], object]>([
    ['nothing is there', [], [], {}],
    ['it fails', [check()], [], { failed: ['test'] }],
    ['it fails, and passes on the base', [check()], [check(passed)], { failed: ['test'] }],
    ['a commit status fails', [status()], [], { failed: ['ci/other'] }],
    ['a workflow that never came to a job', [check({ of: 'workflow', id: null, name: 'CI' })], [], { failed: ['CI'] }],
    ['two workflows have a job called so', [check(), otherWorkflow()], [], { failed: ['test', 'test'] }],
    ['another workflow has one that passed', [check(), otherWorkflow(passed)], [], { failed: ['test'], passed: 1 }],
    [
      'another app has one that passed',
      [check(), check({ app: 'lint', workflow: null, ...passed })],
      [],
      { failed: ['test'], passed: 1 },
    ],
    [
      'it passed in an earlier run and fails in a later one',
      [check(passed), check(inRun(101))],
      [],
      { failed: ['test'] },
    ],
    [
      'it passed for a push and fails for the pull request',
      [check(passed), check(forPullRequest)],
      [],
      { failed: ['test'] },
    ],
    [
      'it fails for the pull request and passed for a push after that',
      [check(forPullRequest), check(passed)],
      [],
      { failed: ['test'] },
    ],
    [
      'it fails for the pull request and still runs for a push',
      [check(forPullRequest), check(running)],
      [],
      { failed: ['test'] },
    ],
    [
      'two jobs of a matrix have one name, and the slower one passes',
      [check({ began: 10, at: 20 }), check({ ...passed, began: 11, at: 30 })],
      [],
      { failed: ['test'] },
    ],
    [
      'two jobs of a matrix have one name, and the faster one passes',
      [check({ ...passed, began: 10, at: 20 }), check({ began: 11, at: 30 })],
      [],
      { failed: ['test'] },
    ],
    [
      'its twin of another event was skipped',
      [check(), check({ ...inRun(101), ...skipped('skipped') })],
      [],
      { failed: ['test'] },
    ],
  ])('%s', (_, head, base, expected) => {
    expect(judged(head, base)).toEqual(expected);
  });
});

describe('what else there is, is reported', () => {
  test.each<[string, readonly CheckNow[], readonly CheckNow[], object]>([
    ['it fails on the base as well', [check()], [check()], { alsoOnBase: ['test'] }],
    ['it failed on the base, and passed later', [check()], [check(), check(passed)], { failed: ['test'] }],
    ['it failed on the base, where it runs again', [check()], [check(), check(running)], { alsoOnBase: ['test'] }],
    ['it was cancelled on the base', [check()], [check(skipped('cancelled'))], { failed: ['test'] }],
    ['another workflow of the base fails', [check()], [otherWorkflow()], { failed: ['test'] }],
    [
      'the file of the workflow is not known on the base',
      [check()],
      [check({ workflow: { path: null, name: 'CI', run: 1, event: 'push' } })],
      { alsoOnBase: ['test'] },
    ],
    ['it passed, and fails in the same run', [check(passed), check()], [], { flaky: ['test'] }],
    ['it failed, and passes', [check(), check(passed)], [], { flaky: ['test'], passed: 1 }],
    [
      'it failed, and passes when it is run again',
      [check({ began: 10, at: 20 }), check({ ...passed, began: 20, at: 30 })],
      [],
      { flaky: ['test'], passed: 1 },
    ],
    [
      'it is flaky for a push, and passed for the pull request',
      [check(), check(passed), check({ ...forPullRequest, ...passed })],
      [],
      { flaky: ['test'], passed: 1 },
    ],
    [
      'it failed, and passes in a later run',
      [check(), check({ ...inRun(101), ...passed })],
      [],
      { flaky: ['test'], passed: 1 },
    ],
    ['a status failed after it passed', [status(passed), status()], [], { flaky: ['ci/other'] }],
    ['it is flaky, and fails on the base', [check(passed), check()], [check()], { flaky: ['test'] }],
    ['it failed, and runs again', [check(), check(running)], [], { running: ['test'] }],
    ['it waits for a person', [check({ result: 'waiting', conclusion: 'action_required' })], [], { waiting: ['test'] }],
    ['GitHub gave it up', [check({ conclusion: 'STALE' })], [], { waiting: ['test'] }],
    ...['skipped', 'neutral', 'CANCELLED'].map((word): [string, readonly CheckNow[], readonly CheckNow[], object] => [
      `it is ${word}`,
      [check(skipped(word))],
      [],
      {},
    ]),
  ])('%s', (_, head, base, expected) => {
    expect(judged(head, base)).toEqual(expected);
  });
});

describe('our own workflow never answers itself', () => {
  test.each<[string, CheckNow, object]>([
    ['it is of our file', check({ workflow: ours }), {}],
    ['it is of our file, and the file is called otherwise', check({ workflow: { ...ours, name: 'CI' } }), {}],
    [
      'it is of this run, and its file is not known',
      check({ workflow: { path: null, name: 'CI', run: own.run, event: 'push' } }),
      {},
    ],
    [
      'it belongs to another run, and its file is not known',
      check({ workflow: { ...ours, path: null } }),
      { failed: ['test'] },
    ],
    [
      'it is called as ours',
      check({ name: 'Ralph', workflow: { path: '.github/workflows/x.yml', name: 'Ralph', run: 8, event: 'push' } }),
      { failed: ['Ralph'] },
    ],
    ['another app calls it so', check({ name: 'Ralph', app: 'lint', workflow: null }), { failed: ['Ralph'] }],
    ['a status is called so', status({ name: own.workflow }), { failed: [own.workflow] }],
  ])('%s', (_, one, expected) => {
    expect(judged([one])).toEqual(expected);
  });

  test('where our own file is not known, our own run is left out', () => {
    const one = check({ workflow: { path: null, name: 'Ralph', run: 7, event: 'push' } });
    const all = { head: [one, check()], base: [] };
    expect(judgeChecks(all, { workflow: null, run: 7 }).failed).toEqual([check()]);
    expect(judgeChecks(all, { workflow: null, run: null }).failed).toEqual([one, check()]);
  });
});

describe('the id of its task', () => {
  test('is one of feedback, and the same on every head and in every run of the workflow', () => {
    const id = taskIdOfCheck(check());
    expect(isFeedback(id)).toBe(true);
    expect(taskIdOfCheck(check({ id: 2, ...inRun(101), summary: 'other', url: null, at: 5 }))).toBe(id);
  });

  test('differs by name, app and workflow', () => {
    const all = [
      check(),
      otherWorkflow(),
      check({ name: 'test2' }),
      check({ app: 'lint', workflow: null }),
      check({ of: 'workflow' }),
      status({ name: 'test' }),
      check({ workflow: { path: null, name: '.github/workflows/ci.yml', run: 1, event: 'push' } }),
    ];
    expect(new Set(all.map(taskIdOfCheck)).size).toBe(all.length);
  });
});

describe('that checks do not start is seen', () => {
  const later = { own, ranBefore: false, sincePushMs: 10 * MINUTE };
  const waits = check({ result: 'waiting', conclusion: 'action_required' });
  test.each<[string, readonly CheckNow[], readonly CheckNow[], Partial<typeof later>, boolean | null]>([
    ['the base has some, the head none', [], [check(passed)], {}, true],
    ['an earlier head had some', [], [], { ranBefore: true }, true],
    ['nobody expects any', [], [], {}, false],
    ['the base has only our own', [], [check({ workflow: ours })], {}, false],
    ['the base has only those of another app', [], [check({ app: 'lint', workflow: null }), status()], {}, false],
    ['on the base they wait as well', [], [waits], {}, false],
    ['the push was just now', [], [check(passed)], { sincePushMs: 10 * MINUTE - 1 }, null],
    ['the push was just now, and one runs already', [check(running)], [check(passed)], { sincePushMs: 0 }, false],
    ['on the base some ran by the clock', [], [check({ ...passed, ...startedBy('schedule') })], {}, false],
    ['an earlier head had some, and another app looks at this one', [status()], [], { ranBefore: true }, false],
    ['they wait for a person', [waits], [check(passed)], {}, true],
    ['only our own started', [check({ workflow: ours })], [check(passed)], {}, true],
    ['only another app looks at the head', [status()], [check(passed)], {}, true],
    ['one runs', [check(running)], [check(passed)], {}, false],
    ['one was skipped', [check(skipped('skipped'))], [check(passed)], {}, false],
  ])('%s: %j', (_, head, base, change, expected) => {
    expect(areChecksUnstarted({ head, base }, { ...later, ...change })).toBe(expected);
  });
});

test('no check is in two groups but as passed, and a failed one is never lost', () => {
  const any = fc.record({
    name: fc.constantFrom('a', 'b'),
    run: fc.integer({ min: 1, max: 2 }),
    result: fc.constantFrom<CheckNow['result']>('passed', 'failed', 'running', 'waiting', 'skipped'),
  });
  const anyChecks = fc.array(
    any.map(({ name, run, result }) => check({ name, result, conclusion: '', ...inRun(run) })),
    { maxLength: 8 },
  );
  fc.assert(
    fc.property(anyChecks, anyChecks, (head, base) => {
      const { failed, alsoOnBase, flaky, running: runs, waiting } = judgeChecks({ head, base }, own);
      const names = [failed, alsoOnBase, flaky, runs, waiting].flat().map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      for (const name of ['a', 'b']) {
        const last = head.findLast((one) => one.name === name && one.result !== 'skipped');
        if (last?.result === 'failed')
          expect([...failed, ...alsoOnBase, ...flaky].map((one) => one.name)).toContain(name);
      }
    }),
  );
});

describe('whether a check that failed before still fails is not decided', () => {
  test.each<[string, readonly CheckNow[], boolean]>([
    ['nothing has begun on the head', [], true],
    ['it runs', [check(running)], true],
    ['it waits', [check({ result: 'waiting', conclusion: 'action_required' })], true],
    ['others run, and it has not begun', [check({ ...running, name: 'lint' })], true],
    [
      'some others have ended, and it has not begun',
      [otherWorkflow(passed), check({ ...running, name: 'lint' })],
      true,
    ],
    ['only our own workflow ran', [check({ ...passed, workflow: ours })], true],
    ['it passed', [check(passed), check({ ...running, name: 'lint' })], false],
    ['it failed', [check(), check({ ...running, name: 'lint' })], false],
    ['all others have ended without it', [check({ ...passed, name: 'lint' })], false],
  ])('%s', (_, head, expected) => {
    expect(isUndecidedCheck(judgeChecks({ head, base: [] }, own), taskIdOfCheck(check()))).toBe(expected);
  });
});

describe('how many of the failed checks one run reads', () => {
  const jobs = (...names: readonly string[]) => names.map((name) => check({ name }));
  const letters = ['a', 'b', 'c', 'd', 'e'];
  const app = (name: string) => check({ name, app: 'circleci', workflow: null });

  test.each<[string, readonly CheckNow[], number, readonly string[]]>([
    ['three jobs where nothing else was asked', jobs('a', 'b', 'c', 'd'), 0, ['a', 'b', 'c']],
    ['two beside one to three people', jobs('a', 'b', 'c'), 3, ['a', 'b']],
    ['one beside four', jobs('a', 'b', 'c'), 4, ['a']],
    ['the first beside any number', jobs('a', 'b'), 60, ['a']],
    ['four of another app, which has no logs', letters.map(app), 0, ['a', 'b', 'c', 'd']],
    [
      'what still fits behind what does not',
      [...jobs('a', 'b', 'c'), app('d'), status({ name: 'e' })],
      2,
      ['a', 'b', 'd', 'e'],
    ],
    [
      'statuses, which cost nothing, but no more than four',
      letters.map((name) => status({ name })),
      9,
      ['a', 'b', 'c', 'd'],
    ],
    ['none of none', [], 0, []],
  ])('%s', (_, inTurn, asked, expected) => {
    expect(selectChecksToRead(inTurn, asked).map(({ name }) => name)).toEqual(expected);
  });
});

describe('what came before the tip of the base branch is of interest', () => {
  const retried = [check(), check({ ...passed, id: 2 })];
  test.each<[string, readonly CheckNow[], readonly CheckNow[], boolean]>([
    ['where nothing ran there', [check()], [], true],
    ['where it has not ended there', [check()], [check(running)], true],
    ['where it was skipped there', [check()], [check(skipped('cancelled'))], true],
    ['where another ran there', [check()], [check({ name: 'lint' })], true],
    ['not where it failed there', [check()], [check()], false],
    ['not where it passed there', [check()], [check(passed)], false],
    ['not where nothing failed', [check(passed)], [], false],
    ['not for a flaky one', retried, [], false],
    ['not for our own', [check({ workflow: ours })], [], false],
  ])('%s', (_, head, base, expected) => {
    expect(isUnknownOnBase({ head, base }, own)).toBe(expected);
  });
});

function startedBy(event: string): Partial<CheckNow> {
  return { workflow: { path: '.github/workflows/nightly.yml', name: 'Nightly', run: 9, event } };
}

function skipped(conclusion: string): Partial<CheckNow> {
  return { result: 'skipped', conclusion };
}

function inRun(run: number): Partial<CheckNow> {
  return { workflow: { path: '.github/workflows/ci.yml', name: 'CI', run, event: 'push' } };
}

function otherWorkflow(change: Partial<CheckNow> = {}): CheckNow {
  return check({ workflow: { path: '.github/workflows/nightly.yml', name: 'CI', run: 200, event: 'push' }, ...change });
}
