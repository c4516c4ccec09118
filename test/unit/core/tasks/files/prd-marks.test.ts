import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parsePrd } from '../../../../../src/core/tasks/files/prd.ts';
import { markPrd, buildPrdMarks, type PrdMark } from '../../../../../src/core/tasks/files/prd-marks.ts';
import { untouchedProgress } from '../../../../../src/core/tasks/queue.ts';
import type { Task, TaskProgress } from '../../../../../src/core/tasks/task.ts';
import { runs } from '../../../../runs.ts';

const mark = (text: string, marks: Readonly<Record<string, PrdMark>>): string | null =>
  markPrd(text, new Map(Object.entries(marks)))?.text ?? null;

describe('a state is written in the words of the file, and nothing else changes', () => {
  test.each<[string, string, Readonly<Record<string, PrdMark>>, string]>([
    [
      'a status',
      '{"tasks":[{"id":"T1","title":"a","status":"todo","x":{"y":[1, 2]}}]}\n',
      { 'prd-T1': 'in-progress' },
      '{"tasks":[{"id":"T1","title":"a","status":"in_progress","x":{"y":[1, 2]}}]}\n',
    ],
    [
      'CRLF, tabs, a byte order mark, and no line end',
      '\uFEFF{\r\n\t"tasks": [\r\n\t\t{ "title": "a" , "id": "T1", "status": "todo" }\r\n\t]\r\n}',
      { 'prd-T1': 'failed' },
      '\uFEFF{\r\n\t"tasks": [\r\n\t\t{ "title": "a" , "id": "T1", "status": "failed" }\r\n\t]\r\n}',
    ],
    [
      'the neighbours’ words',
      '{"tasks":[{"id":"T1","title":"a","status":"Todo"},{"id":"T2","title":"b","status":"Completed"},{"id":"T3","title":"c","status":"in progress"},{"id":"T4","title":"d","status":"pending"}]}',
      { 'prd-T1': 'done', 'prd-T4': 'in-progress' },
      '{"tasks":[{"id":"T1","title":"a","status":"Completed"},{"id":"T2","title":"b","status":"Completed"},{"id":"T3","title":"c","status":"in progress"},{"id":"T4","title":"d","status":"in progress"}]}',
    ],
    [
      'a story that passes',
      '{"userStories":[{"id":"US-1","title":"a","passes":false,"notes":""}]}',
      { 'prd-US-1': 'done' },
      '{"userStories":[{"id":"US-1","title":"a","passes":true,"notes":""}]}',
    ],
    [
      'a story that its agent called done, and that failed',
      '{"userStories":[{"id":"US-1","title":"a","passes":true}]}',
      { 'prd-US-1': 'failed' },
      '{"userStories":[{"id":"US-1","title":"a","passes":false}]}',
    ],
    [
      'both',
      '{"tasks":[{"id":"T1","title":"a","status":"todo","passes":false}]}',
      { 'prd-T1': 'done' },
      '{"tasks":[{"id":"T1","title":"a","status":"done","passes":true}]}',
    ],
    [
      'a status that is not there yet',
      '{\n  "tasks": [\n    {\n      "id": "T1",\n      "title": "a"\n    }\n  ]\n}\n',
      { 'prd-T1': 'in-progress' },
      '{\n  "tasks": [\n    {\n      "id": "T1",\n      "title": "a",\n      "status": "in_progress"\n    }\n  ]\n}\n',
    ],
    [
      'one that is null',
      '{"tasks":[{"id":"T1","title":"a","status":null}]}',
      { 'prd-T1': 'failed' },
      '{"tasks":[{"id":"T1","title":"a","status":"failed"}]}',
    ],
    [
      'one that is given twice: the last counts',
      '{"tasks":[{"id":"T1","title":"a","status":"done","status":"todo"}]}',
      { 'prd-T1': 'in-progress' },
      '{"tasks":[{"id":"T1","title":"a","status":"done","status":"in_progress"}]}',
    ],
    [
      'a prd in a code fence, with words around it',
      'The tasks:\n\n```json\n{"tasks":[{"id":"T1","title":"a","status":"todo"}]}\n```\n\nThat is all.\n',
      { 'prd-T1': 'done' },
      'The tasks:\n\n```json\n{"tasks":[{"id":"T1","title":"a","status":"done"}]}\n```\n\nThat is all.\n',
    ],
  ])('%s', (_, text, marks, expected) => {
    expect(mark(text, marks)).toBe(expected);
  });

  test.each<[string, string, Readonly<Record<string, PrdMark>>]>([
    [
      'a state that is there already',
      '{"tasks":[{"id":"T1","title":"a","status":"IN PROGRESS"}]}',
      { 'prd-T1': 'in-progress' },
    ],
    [
      'a claim to be done is left to whoever judges it',
      '{"tasks":[{"id":"T1","title":"a","status":"done"}]}',
      { 'prd-T1': 'in-progress' },
    ],
    [
      'a story has no word for being worked on',
      '{"userStories":[{"id":"US-1","title":"a","passes":false}]}',
      { 'prd-US-1': 'in-progress' },
    ],
    ['the same of one that says nothing', '{"userStories":[{"id":"US-1","title":"a"}]}', { 'prd-US-1': 'failed' }],
    ['an entry that is not there', '{"tasks":[{"id":"T1","title":"a"}]}', { 'prd-T2': 'done' }],
    ['no JSON', '{"tasks":[', { 'prd-T1': 'done' }],
    ['no list', '{"stories":[]}', { 'prd-T1': 'done' }],
  ])('nothing is written for %s', (_, text, marks) => {
    expect(mark(text, marks)).toBeNull();
  });
});

test('whatever the file looks like, only states change, and they are what was asked for', () => {
  const entry = fc.record(
    {
      title: fc.string({ minLength: 1, maxLength: 8 }).map((title) => `t${title}`),
      status: fc.constantFrom('todo', 'in_progress', 'failed', 'done', 'blocked', 'pending'),
      extra: fc.jsonValue({ maxDepth: 2 }),
    },
    { requiredKeys: ['title'] },
  );
  const layout = fc.constantFrom<string | number | undefined>(undefined, 1, 2, 4, '\t');
  fc.assert(
    fc.property(
      fc.array(entry, { minLength: 1, maxLength: 6 }),
      layout,
      fc.constantFrom<PrdMark>('in-progress', 'failed', 'done'),
      fc.constantFrom('\n', '\r\n'),
      (entries, indent, wanted, lineEnd) => {
        const listed = entries.map((one, at) => ({ id: `T${String(at)}`, ...one }));
        const text = JSON.stringify({ v: 1, tasks: listed }, null, indent).replaceAll('\n', lineEnd) + lineEnd;
        const marked = mark(text, { 'prd-T0': wanted });
        const before = parsePrd('', text).tasks[0]?.state;
        if (before === wanted || (before === 'done' && wanted === 'in-progress')) {
          expect(marked).toBeNull();
          return;
        }
        expect(parsePrd('', marked ?? '').tasks[0]?.state).toBe(wanted);
        const rest = (source: string): unknown => {
          const { tasks, ...others } = JSON.parse(source) as { tasks: { status?: string }[] };
          return { ...others, tasks: tasks.map(({ status: _status, ...kept }) => kept) };
        };
        expect(rest(marked ?? '')).toEqual(rest(text));
        expect(marked?.includes('\r')).toBe(lineEnd === '\r\n' && text.includes('\r'));
        expect(marked?.split(lineEnd).at(-1)).toBe('');
      },
    ),
    { numRuns: runs(200) },
  );
});

test.each<[string, Partial<TaskProgress>, PrdMark | null]>([
  ['worked on', { state: 'in-progress', attempts: 1 }, 'in-progress'],
  ['failed here', { state: 'failed', attempts: 8 }, 'failed'],
  ['failed, as its file says', { state: 'failed', attempts: 0 }, null],
  ['in progress, as its file says', { state: 'in-progress', attempts: 0 }, null],
  ['done', { state: 'done', attempts: 0 }, 'done'],
  ['set aside', { state: 'stuck', attempts: 3 }, null],
  ['not begun', { state: 'todo', attempts: 0 }, null],
])('what is %s', (_, progress, expected) => {
  const task: Task = {
    id: 'prd-T1',
    title: 'a',
    body: '',
    source: { kind: 'prd', path: '.ralph/prd.json', key: 'T1', issue: null },
    comments: [],
    priority: 2,
    dependsOn: [],
    optional: false,
    obstacle: null,
  };
  const plan: Task = { ...task, id: 'plan-1', source: { kind: 'plan', path: 'p', line: 1 } };
  const all = { 'prd-T1': { ...untouchedProgress, ...progress }, 'plan-1': { ...untouchedProgress, ...progress } };
  expect(buildPrdMarks([task, plan], all).get('prd-T1') ?? null).toBe(expected);
  expect(buildPrdMarks([task, plan], all).has('plan-1')).toBe(false);
});
