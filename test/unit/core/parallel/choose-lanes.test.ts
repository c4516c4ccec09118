import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chooseLanes, type QueueNow } from '../../../../src/core/parallel/choose-lanes.ts';
import { findSharedFile } from '../../../../src/core/parallel/predict-files.ts';
import { untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import { task } from '../core-fixtures.ts';
import { runs } from '../../../runs.ts';

/** Returns a queue of tasks by number, each with its files; null = unknown. */
function queue(
  files: Readonly<Record<number, readonly string[] | null>>,
  change: Partial<QueueNow> & { readonly dependsOn?: Readonly<Record<number, readonly string[]>> } = {},
): QueueNow {
  const { dependsOn = {}, ...rest } = change;
  const numbers = Object.keys(files).map(Number);
  return {
    tasks: numbers.map((number) => task(number, { dependsOn: [...(dependsOn[number] ?? [])] })),
    progress: {},
    currentTask: null,
    maxIterations: 10,
    changed: [],
    filesOf: (id) => {
      const known = files[Number(id.slice('issue-'.length))];
      return known == null ? null : new Set(known);
    },
    mayLeave: () => true,
    busy: [],
    urgent: [],
    continuable: [],
    maxBeside: 5,
    maxNew: 5,
    ...rest,
  };
}

const lane = (number: number, files: readonly string[] | null) => ({
  lane: `issue-${String(number)}`,
  files: files === null ? null : new Set(files),
});
const names = (of: QueueNow): readonly string[] => {
  const { continued, begun } = chooseLanes(of);
  return [...continued, ...begun].map((one) => one.lane);
};

describe('more new lanes than machines', () => {
  const many = (tasks: number, change: Partial<QueueNow>): number =>
    names(
      queue(Object.fromEntries(Array.from({ length: tasks }, (_, at) => [at + 1, [`f${String(at)}`]])), {
        ...{ maxIterations: 100, maxNew: 40, ...change },
      }),
    ).length;

  test.each([
    ['one for each task beside the first of the queue', 3, 2, 2],
    ['none that would only wait for the others', 5, 4, 4],
    ['so many that the queue and the other machines end at about the same time', 12, 2, 7],
    ['the same for one machine beside the queue', 4, 1, 2],
    ['none without a machine beside the queue', 12, 0, 0],
    ['at most four for each machine beside the queue', 90, 2, 8],
  ])('%s', (_, tasks, maxBeside, expected) => {
    expect(many(tasks, { maxBeside })).toBe(expected);
  });

  test('are at most as many as the limit', () => {
    expect(many(12, { maxBeside: 2, maxNew: 4 })).toBe(4);
  });

  test.each(['busy', 'urgent'] as const)('do not begin beside a lane that is %s', (what) => {
    expect(many(12, { maxBeside: 2, [what]: [lane(99, ['other'])] })).toBe(2);
  });
});

describe('lanes side by side', () => {
  test.each<[string, QueueNow, readonly string[]]>([
    ['tasks whose files differ', queue({ 1: ['a'], 2: ['b'], 3: ['c'] }), ['issue-2', 'issue-3']],
    ['not the only task', queue({ 1: ['a'] }), []],
    ['not a task with files of the first', queue({ 1: ['a'], 2: ['a', 'b'], 3: ['c'] }), ['issue-3']],
    [
      'not a task with files of one chosen before',
      queue({ 1: ['a'], 2: ['b'], 3: ['b'], 4: ['c'] }),
      ['issue-2', 'issue-4'],
    ],
    ['not a task with unknown files', queue({ 1: ['a'], 2: null, 3: ['c'] }), ['issue-3']],
    ['none if the files of the first are unknown', queue({ 1: null, 2: ['b'] }), []],
    [
      'not a task with files that the branch of the queue has changed',
      queue({ 1: ['a'], 2: ['b'] }, { changed: ['b'] }),
      [],
    ],
    [
      'as many as are allowed',
      queue({ 1: ['a'], 2: ['b'], 3: ['c'], 4: ['d'] }, { maxBeside: 2 }),
      ['issue-2', 'issue-3'],
    ],
    ['as many new ones as are allowed', queue({ 1: ['a'], 2: ['b'], 3: ['c'] }, { maxNew: 1 }), ['issue-2']],
    [
      'not a task that depends on another',
      queue({ 1: ['a'], 2: ['b'], 3: ['c'] }, { dependsOn: { 3: ['issue-2'] } }),
      ['issue-2'],
    ],
    [
      'not a task that depends on one that is done on the branch of the queue',
      queue(
        { 1: ['a'], 2: ['b'], 3: ['c'] },
        { dependsOn: { 3: ['issue-2'] }, progress: { 'issue-2': { ...untouchedProgress, state: 'done' } } },
      ),
      [],
    ],
    [
      'a task whose dependency is closed',
      queue(
        { 1: ['a'], 3: ['c'] },
        { dependsOn: { 3: ['issue-2'] }, progress: { 'issue-2': { ...untouchedProgress, state: 'done' } } },
      ),
      ['issue-3'],
    ],
    [
      'not a task that the queue has begun, and none with its files',
      queue(
        { 1: ['a'], 2: ['b'], 3: ['b'], 4: ['c'] },
        { progress: { 'issue-2': { ...untouchedProgress, attempts: 1 } } },
      ),
      ['issue-4'],
    ],
    ['not a task whose lane has a state', queue({ 1: ['a'], 2: ['b'] }, { mayLeave: () => false }), []],
    ['unfinished lanes before new ones', queue({ 1: ['a'], 2: ['b'] }, { continuable: [lane(7, ['b'])] }), ['issue-7']],
    ['no unfinished lane with files of the first', queue({ 1: ['a'] }, { continuable: [lane(7, ['a'])] }), []],
    ['no lane with files of another run', queue({ 1: ['a'], 2: ['b'] }, { busy: [lane(7, ['b'])] }), []],
    ['none beside another run with unknown files', queue({ 1: ['a'], 2: ['b'] }, { busy: [lane(7, null)] }), []],
    [
      'unfinished lanes of a queue without work',
      queue({}, { continuable: [lane(7, ['a']), lane(8, ['b']), lane(9, ['a'])] }),
      ['issue-7', 'issue-8'],
    ],
    [
      'one lane with unknown files of a queue without work',
      queue({}, { continuable: [lane(7, null), lane(8, ['b'])] }),
      ['issue-7'],
    ],
  ])('%s', (_, of, expected) => {
    expect(names(of)).toEqual(expected);
  });

  test.each<[string, readonly string[] | null, boolean, readonly string[]]>([
    ['beside the queue', ['x'], true, ['issue-2']],
    ['and the whole queue waits if it touches files of its first task', ['a'], false, []],
    ['and the whole queue waits if its files are unknown', null, false, []],
    ['and what touches its files gets no lane', ['b'], true, []],
  ])('an urgent lane comes first, %s', (_, files, hasQueue, begun) => {
    const of = queue({ 1: ['a'], 2: ['b'] }, { urgent: [lane(9, files)] });
    expect(names(of)).toEqual(begun);
    expect(chooseLanes(of).own !== null).toBe(hasQueue);
  });

  test('tasks of files stay on the queue, and no other lane touches their files', () => {
    const of = queue({ 1: ['a'], 2: ['b'], 3: ['c'] });
    const plan = { ...task(2), id: 'plan-0a1b2c3d' };
    const tasks = of.tasks.map((one) => (one.id === 'issue-2' ? plan : one));
    const filesOf = (id: string) => (id === plan.id ? new Set(['c']) : of.filesOf(id));
    expect(names({ ...of, tasks, filesOf })).toEqual([]);
  });
});

test('a task of the queue waits for the lane with its files; one without conflict does not', () => {
  const of = queue({ 1: ['a'], 2: ['b'], 3: ['b', 'c'], 4: null, 5: ['a', 'd'] });
  expect(chooseLanes(of).waiting).toEqual([
    { task: 'issue-3', lane: 'issue-2', path: 'b' },
    { task: 'issue-4', lane: 'issue-2', path: null },
  ]);
  expect(chooseLanes({ ...of, maxBeside: 0 }).waiting).toEqual([]);
});

const someFiles = fc.option(
  fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), { maxLength: 3, minLength: 1 }),
);

test('no two lanes ever share a file, depend on each other, or have unknown files', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ files: someFiles, dependsOn: fc.option(fc.nat(7)), isBegun: fc.boolean() }), {
        maxLength: 8,
      }),
      fc.array(someFiles, { maxLength: 3 }),
      fc.nat(5),
      fc.option(someFiles),
      (tasks, unfinished, maxBeside, urgent) => {
        const of = queue(Object.fromEntries(tasks.map(({ files }, at) => [at + 1, files])), {
          dependsOn: Object.fromEntries(
            tasks.map(({ dependsOn }, at) => [
              at + 1,
              dependsOn === null || dependsOn >= at ? [] : [`issue-${String(dependsOn + 1)}`],
            ]),
          ),
          progress: Object.fromEntries(
            tasks.flatMap(({ isBegun }, at) =>
              isBegun ? [[`issue-${String(at + 1)}`, { ...untouchedProgress, attempts: 1 }]] : [],
            ),
          ),
          continuable: unfinished.map((files, at) => lane(100 + at, files)),
          maxBeside,
          urgent: urgent === null ? [] : [lane(99, urgent)],
        });
        const { own, continued, begun, waiting } = chooseLanes(of);
        const beside = [...continued, ...begun];
        expect(beside.length).toBeLessThanOrEqual(maxBeside);
        const all = [...(own === null || own.files?.size === 0 ? [] : [own]), ...of.urgent, ...beside];
        for (const [at, one] of all.entries())
          for (const other of all.slice(at + 1)) {
            if (one.files === null || other.files === null) throw new Error('unknown files side by side');
            expect(findSharedFile(one.files, other.files)).toBeNull();
          }
        const ids = begun.map((one) => one.lane);
        for (const { id, dependsOn } of of.tasks) {
          if (ids.includes(id)) expect(dependsOn).toEqual([]);
          if (waiting.some((one) => one.task === id)) expect(ids).not.toContain(id);
          // Tasks that stay can be worked on while the lanes beside are.
          const isLeft = !ids.includes(id) && waiting.every((one) => one.task !== id);
          const files = of.filesOf(id);
          const isOpen = dependsOn.every((other) => of.tasks.some((one) => one.id === other));
          if (isLeft && isOpen && files !== null && own !== null && own.files !== null)
            for (const one of [...of.urgent, ...beside])
              expect(findSharedFile(files, one.files ?? new Set())).toBeNull();
        }
      },
    ),
    { numRuns: runs(500) },
  );
});
