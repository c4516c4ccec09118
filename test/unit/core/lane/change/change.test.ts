import { describe, expect, test } from 'vitest';
import {
  addIteration,
  addRun,
  leaveOut,
  noChange,
  type Change,
  type IterationShare,
} from '../../../../../src/core/lane/change.ts';
import { initialState, parseState, serializeState } from '../../../../../src/core/lane/state.ts';

const file = (path: string, why = 'it is protected') => ({ path, why });
const pathsOf = ({ leftOut }: Change): readonly string[] => leftOut.map(({ path }) => path);

/** An iteration of a run that began with `begun`. */
function after(
  change: Change,
  { begun = change, ofRun = [], now = [], published = [] }: Partial<Parameters<typeof leaveOut>[1]>,
): Change {
  return leaveOut(change, { begun, ofRun: [...ofRun, ...now.map(({ path }) => path)], now, published });
}

describe('what a branch lacks of the work', () => {
  const [a, b] = [file('a.yml'), file('b.yml')];
  const earlier = addRun({ ...noChange, leftOut: [a] }, false);

  test.each<readonly [string, Partial<Parameters<typeof leaveOut>[1]>, readonly string[]]>([
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
    // The same files again are no more than they were.
    expect(after(once, { ...iteration, begun: earlier })).toEqual(once);
    const next = addRun(once, false);
    expect([next.leftOut.length, next.leftOutMore]).toEqual([20, 282]);
  });

  test('is cut to what a state may hold, and found again', () => {
    const long = 'x'.repeat(5000);
    const begun = after(noChange, { now: Array.from({ length: 40 }, (_, i) => file(`${i}${long}`, `${i}${long}`)) });
    const parsed = parseState(serializeState({ ...initialState('queue', 0), change: begun }), 'queue');
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
    verification: 'not-run',
    overruled,
    alsoDone: {},
  });

  test('stay with their iteration; one that is made again and again pushes out no other', () => {
    const first = addIteration(noChange, iteration('It said A.', 'It said B.'));
    const last = Array.from({ length: 30 }).reduce<Change>(
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
  const document = JSON.stringify({ ...initialState('queue', 0), change });
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
    verification: 'not-run',
    overruled: [],
    alsoDone: {},
  }).tasks['issue-1'];
  expect(share?.recommendation).toBe(expected);
});
