import { describe, expect, test } from 'vitest';
import {
  addIteration,
  addRun,
  isChangeFull,
  hasTaskShare,
  withLeftOutFiles,
  withMeasuredSizes,
  noChange,
  EMPTY_SHARE,
  findTaskShare,
  type BranchChange,
  type IterationShare,
} from '../../../../../src/core/lane/change.ts';
import type { TaskId } from '../../../../../src/core/tasks/ids.ts';
import { getProgress } from '../../../../../src/core/tasks/queue.ts';
import type { TaskProgress } from '../../../../../src/core/tasks/task.ts';
import { createInitialState, parseState } from '../../../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../../../src/core/lane/state/serialize-state.ts';

const file = (path: string, why = 'it is protected') => ({ path, why });
const pathsOf = ({ leftOut }: BranchChange): readonly string[] => leftOut.map(({ path }) => path);

/** Returns the change after an iteration of a run that began with `begun`. */
function after(
  change: BranchChange,
  { begun = change, ofRun = [], now = [], published = [] }: Partial<Parameters<typeof withLeftOutFiles>[1]>,
): BranchChange {
  return withLeftOutFiles(change, { begun, ofRun: [...ofRun, ...now.map(({ path }) => path)], now, published });
}

describe('what a branch lacks of the work', () => {
  const [a, b] = [file('a.yml'), file('b.yml')];
  const earlier = addRun({ ...noChange, leftOut: [a] }, false);

  test.each<readonly [string, Partial<Parameters<typeof withLeftOutFiles>[1]>, readonly string[]]>([
    ['stays listed in later runs, whose machine has it not', {}, ['a.yml']],
    ['is joined by what is left out now', { now: [b] }, ['a.yml', 'b.yml']],
    ['is listed once, for the reason of today', { now: [file('a.yml', 'it holds a key')] }, ['a.yml']],
    ['is there once it is published', { published: ['a.yml', 'c.js'] }, []],
    ['is no more what the run itself left out and took back', { ofRun: ['a.yml'] }, []],
  ])('%s', (_, iteration, expected) => {
    expect(pathsOf(after(earlier, iteration))).toEqual(expected);
  });

  test('goes with the branch', () => {
    expect(addRun(earlier, true)).toEqual({ ...noChange, runs: 1 });
  });

  test('is named as far as there is room, one file of each reason first, and counted', () => {
    const flood = Array.from({ length: 300 }, (_, i) => file(`generated/${i}`, 'there are too many'));
    const iteration = { now: [...flood, b] };
    const once = after(earlier, iteration);
    expect(pathsOf(once).slice(0, 3)).toEqual(['a.yml', 'generated/0', 'b.yml']);
    expect([once.leftOut.length, once.leftOutMore]).toEqual([21, 281]);
    // The same files do not count twice.
    expect(after(once, { ...iteration, begun: earlier })).toEqual(once);
    const next = addRun(once, false);
    expect([next.leftOut.length, next.leftOutMore]).toEqual([20, 282]);
  });

  test('is cut to what a state may hold, and found again', () => {
    const long = 'x'.repeat(5000);
    const begun = after(noChange, { now: Array.from({ length: 40 }, (_, i) => file(`${i}${long}`, `${i}${long}`)) });
    const parsed = parseState(serializeState({ ...createInitialState('queue', 0), change: begun }), 'queue');
    expect(parsed).toMatchObject({ kind: 'state', state: { change: begun } });
    expect(pathsOf(after(begun, { published: [`0${long}`] }))).toHaveLength(19);
  });
});

describe('claims that were overruled', () => {
  const iteration = (...overruled: readonly string[]): IterationShare => ({
    taskId: 'issue-1',
    title: 'Greet',
    signal: { summary: null, asks: null, recommendation: null },
    costUsd: null,
    tokens: null,
    durationMs: 0,
    commit: null,
    agent: null,
    verification: 'not-run',
    overruled,
    alsoDone: {},
  });

  test('stay with their iteration; one that is made again and again pushes out no other', () => {
    const first = addIteration(noChange, iteration('It said A.', 'It said B.'));
    const last = Array.from({ length: 30 }).reduce<BranchChange>(
      (change) => addIteration(change, iteration('It said A.')),
      first,
    );
    expect(last.overruled).toHaveLength(20);
    expect(last.overruled[0]).toBe('Iteration 1: It said B.');
    expect(last.overruled.at(-1)).toBe('Iteration 31: It said A.');
    expect(last.overruledMore).toBe(12);
  });
});

test('a document of the first days of version 5 knows nothing of it', () => {
  const { leftOut, leftOutMore, overruledMore, ...change } = noChange;
  const document = JSON.stringify({ ...createInitialState('queue', 0), change });
  expect(parseState(document, 'queue')).toMatchObject({
    kind: 'state',
    problems: [],
    state: { change: { leftOut, leftOutMore, overruledMore } },
  });
});

test.each<readonly [string, IterationShare['signal'], string | null]>([
  ['its recommendation', { summary: null, asks: null, recommendation: 'Ask for the key.' }, 'Ask for the key.'],
  [
    'its last words, without a block',
    { summary: null, asks: null, recommendation: null, lastWords: 'No key.' },
    'No key.',
  ],
  ['nothing', { summary: null, asks: null, recommendation: null }, null],
])('what people hear of an agent that sums nothing up: %s', (_, signal, expected) => {
  const share = addIteration(noChange, {
    taskId: 'issue-1',
    title: 'Greet',
    signal,
    costUsd: null,
    tokens: null,
    durationMs: 0,
    commit: null,
    agent: null,
    verification: 'not-run',
    overruled: [],
    alsoDone: {},
  }).tasks['issue-1'];
  expect(share?.recommendation).toBe(expected);
});

describe('what an iteration adds', () => {
  const said = (summary: string | null, asks: string | null = null) => ({ summary, asks, recommendation: null });
  const begin: IterationShare = {
    taskId: 'issue-1',
    title: 'Greet',
    signal: said('Greets.', 'How?'),
    costUsd: 0.5,
    tokens: 100,
    durationMs: 60_000,
    commit: 'c1',
    agent: null,
    verification: 'passed',
    overruled: [],
    alsoDone: {},
  };
  const played = (...iterations: readonly Partial<IterationShare>[]): BranchChange =>
    iterations.reduce<BranchChange>((change, more) => addIteration(change, { ...begin, ...more }), noChange);

  test('sums of the branch and of the task', () => {
    const change = played({}, { taskId: 'issue-2', costUsd: null, tokens: null, commit: null }, { commit: 'c3' });
    expect(change).toMatchObject({ iterations: 3, costUsd: 1, tokens: 200, durationMs: 180_000 });
    expect(change.tasks['issue-1']).toMatchObject({
      title: 'Greet',
      iterations: 2,
      costUsd: 1,
      tokens: 200,
      durationMs: 120_000,
      commits: ['c1', 'c3'],
      commitCount: 2,
    });
    expect(change.tasks['issue-2']).toMatchObject({
      iterations: 1,
      costUsd: 0,
      tokens: 0,
      commits: [],
      commitCount: 0,
    });
    // The task of the newest iteration comes last.
    expect(Object.keys(change.tasks)).toEqual(['issue-2', 'issue-1']);
  });

  test('the newest ten commits, and how many there are', () => {
    const change = played(...Array.from({ length: 12 }, (_, i) => ({ commit: `c${String(i)}` })));
    expect(change.tasks['issue-1']?.commits).toEqual(Array.from({ length: 10 }, (_, i) => `c${String(i + 2)}`));
    expect(change.tasks['issue-1']?.commitCount).toBe(12);
  });

  test('the last summary that was given; a question stays while it is asked', () => {
    expect(played({}, { signal: said(null, 'Why?') }).tasks['issue-1']).toMatchObject({
      summary: 'Greets.',
      question: 'Why?',
    });
    expect(played({}, { signal: said('') }).tasks['issue-1']).toMatchObject({ summary: 'Greets.', question: null });
    expect(played({}, { signal: said('Better.') }).tasks['issue-1']?.summary).toBe('Better.');
  });

  test.each<[readonly IterationShare['verification'][], IterationShare['verification'], number | null]>([
    [['passed'], 'passed', null],
    [['failed'], 'failed', 1],
    [['passed', 'failed', 'failed'], 'failed', 2],
    [['failed', 'not-run'], 'failed', 1],
    [['failed', 'passed'], 'passed', null],
    [['failed', 'passed', 'failed'], 'failed', 3],
    [['not-run'], 'not-run', null],
  ])('verify that came to %j: %s, failing since %j', (kinds, verification, failingSince) => {
    const change = played(...kinds.map((kind) => ({ verification: kind })));
    expect(change.tasks['issue-1']?.verification).toBe(verification);
    expect(change.failingSince).toBe(failingSince);
  });

  test('tasks that were finished along with it, unless the branch has something of them', () => {
    const change = played(
      { taskId: 'issue-2' },
      { alsoDone: { 'issue-1': 'It', 'issue-2': 'Known', 'issue-3': 'New' } },
    );
    expect(change.tasks['issue-3']).toEqual({ ...EMPTY_SHARE, title: 'New', verification: 'passed' });
    expect(change.tasks['issue-2']).toMatchObject({ title: 'Greet', iterations: 1 });
    expect(change.tasks['issue-1']).toMatchObject({ title: 'Greet', iterations: 1 });
  });

  test('sixty tasks are named, the oldest go', () => {
    const change = played(...Array.from({ length: 62 }, (_, i) => ({ taskId: `issue-${String(i + 1)}` as const })));
    expect(Object.keys(change.tasks)).toHaveLength(60);
    expect(hasTaskShare(change, 'issue-2')).toBe(false);
    expect(hasTaskShare(change, 'issue-3')).toBe(true);
    expect([change.iterations, change.costUsd]).toEqual([62, 31]);
  });
});

describe('whether people have enough to review', () => {
  const change: BranchChange = { ...noChange, lines: 400, tasks: { 'issue-1': EMPTY_SHARE, 'issue-2': EMPTY_SHARE } };
  const done = (...ids: readonly TaskId[]): Record<TaskId, TaskProgress> =>
    Object.fromEntries(ids.map((id) => [id, { ...getProgress({}, id), state: 'done' as const }]));

  test.each<[string, Record<TaskId, TaskProgress>, number, number, boolean]>([
    ['no limit', done('issue-1', 'issue-2'), 0, 0, false],
    ['as many tasks as the limit', done('issue-1', 'issue-2'), 2, 0, true],
    ['fewer tasks', done('issue-1'), 2, 0, false],
    ['tasks that are of another branch', done('issue-1', 'issue-7'), 2, 0, false],
    ['as many lines as the limit', {}, 0, 400, true],
    ['fewer lines', {}, 0, 401, false],
    ['either', done('issue-1'), 5, 100, true],
  ])('%s', (_, progress, maxTasksPerPr, maxLinesPerPr, expected) => {
    expect(isChangeFull(change, progress, { maxTasksPerPr, maxLinesPerPr })).toBe(expected);
  });

  test('lines that were not measured do not count', () => {
    expect(isChangeFull({ ...change, lines: null }, {}, { maxTasksPerPr: 0, maxLinesPerPr: 1 })).toBe(false);
  });
});

test('what was measured replaces what was known, and only that', () => {
  const size = { files: 1, insertions: 2, deletions: 3, since: 'c0' };
  const before: BranchChange = {
    ...noChange,
    tasks: { 'issue-1': { ...EMPTY_SHARE, size }, 'issue-2': { ...EMPTY_SHARE, size }, 'issue-3': EMPTY_SHARE },
  };
  expect(
    withMeasuredSizes(before, { lines: 9, sizes: { 'issue-1': { ...size, files: 7 } }, lookAt: [{ kind: 'notes' }] }),
  ).toEqual({
    ...before,
    lines: 9,
    lookAt: ['notes'],
    tasks: { ...before.tasks, 'issue-1': { ...EMPTY_SHARE, size: { ...size, files: 7 } } },
  });
  expect(findTaskShare(before, 'issue-9')).toBe(EMPTY_SHARE);
});
