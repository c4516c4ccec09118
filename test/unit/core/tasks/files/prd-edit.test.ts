import { describe, expect, test } from 'vitest';
import type { NewTask } from '../../../../../src/core/tasks/files/form/root-plan.ts';
import { addToPrd } from '../../../../../src/core/tasks/files/prd-edit.ts';

const PATH = '.ralph/prd.json';
const wanted: NewTask = { title: 'New thing', body: '', priority: null, optional: false };
const add = (prd: string, change: Partial<NewTask> = {}, archive: string | null = null): ReturnType<typeof addToPrd> =>
  addToPrd(PATH, { prd, archive }, { ...wanted, ...change });
/** Returns the added entry with its task's id. */
const entryOf = (prd: object, change: Partial<NewTask> = {}, archive: string | null = null): unknown => {
  const added = add(JSON.stringify(prd), change, archive);
  if (added.kind !== 'added') return added;
  const { tasks = [], userStories = [] } = JSON.parse(added.text) as { tasks?: unknown[]; userStories?: unknown[] };
  return [...tasks, ...userStories].find((entry) => (entry as { title: string }).title === 'New thing');
};

describe('everything else stays byte for byte', () => {
  test.each([
    [
      'a new file',
      '',
      '{\n  "tasks": [\n    {\n      "id": "T001",\n      "title": "New thing",\n      "priority": "medium",\n      "status": "todo"\n    }\n  ]\n}\n',
      3,
    ],
    [
      'a file of blanks',
      ' \n',
      '{\n  "tasks": [\n    {\n      "id": "T001",\n      "title": "New thing",\n      "priority": "medium",\n      "status": "todo"\n    }\n  ]\n}\n',
      3,
    ],
    [
      'an empty list on one line',
      '{"userStories":[], "v": 1}',
      '{"userStories":[{ "id": "US-001", "title": "New thing", "description": "", "acceptanceCriteria": [], "priority": 1, "passes": false, "notes": "" }], "v": 1}',
      1,
    ],
    [
      'a file on one line',
      '{"tasks":[{"id":"T9","title":"a"}]}',
      '{"tasks":[{"id":"T9","title":"a"},{"id":"T10","title":"New thing","priority":"medium","status":"todo"}]}',
      1,
    ],
    [
      'entries on one line',
      '{\n "v": 1.0,\n "tasks": [\n  { "id": "x", "title": "a" }\n ]\n}',
      '{\n "v": 1.0,\n "tasks": [\n  { "id": "x", "title": "a" },\n  { "id": "T001", "title": "New thing", "priority": "medium", "status": "todo" }\n ]\n}',
      5,
    ],
    [
      'tabs, CR LF and a mark',
      '\uFEFF{\r\n\t"tasks": [\r\n\t\t{\r\n\t\t\t"id": "T1",\r\n\t\t\t"title": "a"\r\n\t\t}\r\n\t]\r\n}\r\n',
      '\uFEFF{\r\n\t"tasks": [\r\n\t\t{\r\n\t\t\t"id": "T1",\r\n\t\t\t"title": "a"\r\n\t\t},\r\n\t\t{\r\n\t\t\t"id": "T2",\r\n\t\t\t"title": "New thing",\r\n\t\t\t"priority": "medium",\r\n\t\t\t"status": "todo"\r\n\t\t}\r\n\t]\r\n}\r\n',
      7,
    ],
  ])('%s', (_, prd, text, line) => {
    expect(add(prd)).toMatchObject({ kind: 'added', text, line });
  });
});

describe('an entry is written as its neighbours are', () => {
  test.each([
    ['a task', { tasks: [] }, {}, { id: 'T001', title: 'New thing', priority: 'medium', status: 'todo' }],
    [
      'with everything',
      { tasks: [] },
      { body: 'Do\nit', priority: 'high', optional: true } as const,
      { id: 'T001', title: 'New thing', description: 'Do\nit', priority: 'high', status: 'todo', optional: true },
    ],
    [
      'where tasks have details',
      { tasks: [{ id: 'T101', title: 'a', details: 'b' }] },
      { body: 'more' },
      { id: 'T102', title: 'New thing', details: 'more', priority: 'medium', status: 'todo' },
    ],
    [
      'where the last one has a description, whatever the others have',
      {
        tasks: [
          { id: 'T1', title: 'a', details: 'b' },
          { id: 'T2', title: 'c', description: 'd', details: 'e' },
        ],
      },
      { body: 'more' },
      { id: 'T3', title: 'New thing', description: 'more', priority: 'medium', status: 'todo' },
    ],
    [
      'where the last one has neither',
      {
        tasks: [
          { id: 'T1', title: 'a', details: 'b' },
          { id: 'T2', title: 'c' },
        ],
      },
      { body: 'more' },
      { id: 'T3', title: 'New thing', description: 'more', priority: 'medium', status: 'todo' },
    ],
    [
      'where the last entry has details, behind it what is not an entry',
      { tasks: [{ id: 'T1', title: 'a', details: 'b' }, 'no entry'] },
      { body: 'more' },
      { id: 'T2', title: 'New thing', details: 'more', priority: 'medium', status: 'todo' },
    ],
    [
      'where some are pending and others say nothing',
      {
        tasks: [
          { id: 'T1', title: 'a', status: 'pending' },
          { id: 'T2', title: 'b' },
        ],
      },
      {},
      { id: 'T3', title: 'New thing', priority: 'medium', status: 'pending' },
    ],
    [
      'where some are pending and others are to do',
      {
        tasks: [
          { id: 'T1', title: 'a', status: 'pending' },
          { id: 'T2', title: 'b', status: 'todo' },
        ],
      },
      {},
      { id: 'T3', title: 'New thing', priority: 'medium', status: 'todo' },
    ],
    [
      'where one has a number, urgent',
      {
        tasks: [
          { id: 'T1', title: 'a', priority: 5 },
          { id: 'T2', title: 'b', priority: 'low' },
        ],
      },
      { priority: 'high' } as const,
      { id: 'T3', title: 'New thing', priority: 1, status: 'todo' },
    ],
    [
      'where one has a number, and nothing is said',
      { tasks: [{ id: 'T1', title: 'a', priority: 5 }] },
      {},
      { id: 'T2', title: 'New thing', priority: 2, status: 'todo' },
    ],
    [
      'where numbers are small: low is 3',
      { tasks: [{ id: 'T1', title: 'a', priority: 1 }] },
      { priority: 'low' } as const,
      { id: 'T2', title: 'New thing', priority: 3, status: 'todo' },
    ],
    [
      'beside what is not an entry',
      { tasks: [{ id: 'T1', title: 'a', priority: 1 }, 'no entry'] },
      {},
      { id: 'T2', title: 'New thing', priority: 2, status: 'todo' },
    ],
    [
      'behind numbers that count, and no others',
      {
        userStories: [
          { id: 'S1', title: 'a', priority: 1.5 },
          { id: 'S2', title: 'b', priority: 'x' },
          { id: 'S3', title: 'c' },
        ],
      },
      { optional: true },
      {
        id: 'S4',
        title: 'New thing',
        description: '',
        acceptanceCriteria: [],
        priority: 1,
        passes: false,
        notes: '',
        optional: true,
      },
    ],
    [
      'where tasks are pending and have numbers',
      { tasks: [{ id: 4, title: 'a', status: 'pending', priority: 9 }] },
      { priority: 'low' } as const,
      { id: 5, title: 'New thing', priority: 10, status: 'pending' },
    ],
    [
      'a story, behind all others',
      { userStories: [{ id: 'US-009', title: 'a', priority: 3 }] },
      { body: 'As a user' },
      {
        id: 'US-010',
        title: 'New thing',
        description: 'As a user',
        acceptanceCriteria: [],
        priority: 4,
        passes: false,
        notes: '',
      },
    ],
    [
      'an urgent story',
      { userStories: [{ id: 'US-009', title: 'a', priority: 3 }] },
      { priority: 'high' } as const,
      {
        id: 'US-010',
        title: 'New thing',
        description: '',
        acceptanceCriteria: [],
        priority: 1,
        passes: false,
        notes: '',
      },
    ],
    [
      'the list that has entries',
      { tasks: [], userStories: [{ id: 'S1', title: 'a' }] },
      {},
      { id: 'S2', title: 'New thing', description: '', acceptanceCriteria: [], priority: 1, passes: false, notes: '' },
    ],
  ])('%s', (_, prd, change, expected) => {
    expect(entryOf(prd, change)).toEqual(expected);
  });

  test.each<[string, object, string | null, unknown]>([
    [
      'counts on from the highest',
      {
        tasks: [
          { id: 'T9', title: 'a' },
          { id: 'T3', title: 'b' },
        ],
      },
      null,
      'T10',
    ],
    [
      'counts with the letters of the last',
      {
        tasks: [
          { id: 'T9', title: 'a' },
          { id: 'X1', title: 'b' },
        ],
      },
      null,
      'X2',
    ],
    [
      'has as many digits as the last',
      {
        tasks: [
          { id: 'T0009', title: 'a' },
          { id: 'T01', title: 'b' },
        ],
      },
      null,
      'T10',
    ],
    ['is the first where no id ends in a number', { tasks: [{ id: 'a', title: 'a' }, { title: 'b' }] }, null, 'T001'],
    ['does not count a number in the middle', { tasks: [{ id: 'T7a', title: 'a' }] }, null, 'T001'],
    [
      'is not a number beside numbers',
      {
        tasks: [
          { id: 4, title: 'a' },
          { id: 'T7', title: 'b' },
        ],
      },
      null,
      'T8',
    ],
    [
      'is a number behind one',
      {
        tasks: [
          { id: 'T7', title: 'a' },
          { id: 4, title: 'b' },
        ],
      },
      null,
      5,
    ],
    [
      'is not one of the other list',
      {
        tasks: [{ id: 'A1', title: 'a' }],
        userStories: [
          { id: 'A7', title: 'b' },
          { id: 'U9', title: 'c' },
        ],
      },
      null,
      'A8',
    ],
    ['has nothing to do with a blank archive', { tasks: [{ id: 'T1', title: 'a' }] }, ' \n', 'T2'],
    ['nor with one that is not an object', { tasks: [{ id: 'T1', title: 'a' }] }, '[]', 'T2'],
  ])('the id %s', (_, prd, archive, id) => {
    expect(entryOf(prd, {}, archive)).toMatchObject({ id });
  });

  test('no id of the archive is given again', () => {
    expect(entryOf({ tasks: [{ id: 'T1', title: 'a' }] }, {}, '{"tasks":[{"id":"T7","title":"z"}]}')).toMatchObject({
      id: 'T8',
    });
    expect(entryOf({ userStories: [] }, {}, '{"userStories":[{"id":"US-012","title":"z"}]}')).toMatchObject({
      id: 'US-013',
    });
  });
});

describe('nothing is added', () => {
  test('when the title is there already', () => {
    expect(add('{"tasks":[{"title":"a"},\n{"id":"T1","title":"New\u200B  thing","status":"done"}]}')).toEqual({
      kind: 'there',
      id: 'prd-T1',
      line: 2,
      state: 'done',
    });
  });

  test.each([
    [
      'to a file that is cut off',
      '{"tasks": [',
      null,
      {
        file: PATH,
        line: 1,
        column: 12,
        message: 'not valid JSON: the file ends in the middle of a value. None of its tasks are read',
        hidesTasks: true,
      },
    ],
    [
      'to a file without a list',
      '{"features":[]}',
      null,
      { file: PATH, line: 1, column: 1, message: 'it has neither `tasks` nor `userStories`', hidesTasks: true },
    ],
    [
      'to an invalid list',
      '{"tasks":{}}',
      null,
      { file: PATH, line: null, column: null, message: 'neither `tasks` nor `userStories` is an array' },
    ],
    [
      'when the ids of the archive are not known',
      '{"tasks":[]}',
      '{"tasks":[1,]}',
      { file: '.ralph/prd_archive.json', line: 1, column: 13, message: 'expected a value (and no comma before `]`)' },
    ],
    [
      'to a list that is full',
      JSON.stringify({
        tasks: Array.from({ length: 1_000 }, (_, index) => ({ id: index, title: `t${String(index)}` })),
      }),
      null,
      { file: PATH, line: null, column: null, message: 'it has too many entries for one more to be read' },
    ],
  ])('%s', (_, prd, archive, problem) => {
    expect(add(prd, {}, archive)).toEqual({ kind: 'refused', problem });
  });
});
