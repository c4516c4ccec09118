import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { costly } from '../../../../cpu.ts';
import { findArchiveObstacle, archivePrd } from '../../../../../src/core/tasks/files/prd-archive.ts';
import { parsePrd } from '../../../../../src/core/tasks/files/prd.ts';
import { hashId } from '../../../../../src/core/tasks/ids.ts';

const done = (...keys: readonly string[]): ReadonlySet<string> => new Set(keys.map((key) => `prd-${key}`));

const PRD = `{
  "version": 1,
  "tasks": [
    { "id": "A",  "title": "a", "status": "done", "estimate": 1.50 },
    {
      "id": "B",
      "title": "b",
      "x-team": ["\\u00e9", {}]
    },
    { "id": "C", "title": "c" }
  ],
  "owner": "me"
}
`;

describe('done entries are moved as they are written', () => {
  test('into a new archive of the same form', () => {
    expect(archivePrd({ prd: PRD, archive: null }, done('A', 'B'))).toEqual({
      moved: 2,
      prd: '{\n  "version": 1,\n  "tasks": [\n    { "id": "C", "title": "c" }\n  ],\n  "owner": "me"\n}\n',
      archive:
        '{\n  "tasks": [\n    { "id": "A",  "title": "a", "status": "done", "estimate": 1.50 },\n    {\n      "id": "B",\n      "title": "b",\n      "x-team": ["\\u00e9", {}]\n    }\n  ]\n}\n',
    });
  });

  test('to the end of the one that is there, in its indentation and line ends', () => {
    const archive = '{\r\n\t"archived_at": "2026-01-01",\r\n\t"tasks": [\r\n\t\t{"id":"Z"}\r\n\t]\r\n}';
    expect(archivePrd({ prd: PRD, archive }, done('B'))?.archive).toBe(
      '{\r\n\t"archived_at": "2026-01-01",\r\n\t"tasks": [\r\n\t\t{"id":"Z"},\r\n\t\t{\r\n\t\t  "id": "B",\r\n\t\t  "title": "b",\r\n\t\t  "x-team": ["\\u00e9", {}]\r\n\t\t}\r\n\t]\r\n}',
    );
  });

  test.each([
    ['an empty archive', ''],
    ['an archive of blanks', ' \n'],
    ['an archive without a list', '{\n  "archived_at": null\n}\n'],
    ['an empty list', '{"tasks":[]}'],
  ])('into %s', (_, archive) => {
    const archived = archivePrd({ prd: PRD, archive }, done('A'));
    expect(parsePrd('', archived?.archive ?? '').tasks.map(({ task }) => task.id)).toEqual(['prd-A']);
  });

  test('stories go to the stories, tasks to the tasks', () => {
    const both =
      '{ "tasks": [{"id": "T", "title": "t"}], "userStories": [{"id": "U", "title": "u"}, {"id": "V", "title": "v"}] }';
    expect(archivePrd({ prd: both, archive: '{"tasks":[{"id":"S","title":"s"}]}' }, done('T', 'U'))).toEqual({
      moved: 2,
      prd: '{ "tasks": [], "userStories": [{"id": "V", "title": "v"}] }',
      archive:
        '{"tasks":[{"id":"S","title":"s"},{"id": "T", "title": "t"}], "userStories": [{"id": "U", "title": "u"}]}',
    });
  });

  test('a new archive has no lists without entries, and only lists', () => {
    const prd = '{"v":1,"userStories":[],"tasks":[{"id":"A","title":"a"},{"id":"B","title":"b"}]}';
    expect(archivePrd({ prd, archive: null }, done('A'))).toEqual({
      moved: 1,
      prd: '{"v":1,"userStories":[],"tasks":[{"id":"B","title":"b"}]}',
      archive: '{"tasks":[{"id":"A","title":"a"}]}',
    });
  });

  test('of several those that are in the archive already are not put in twice, the others are', () => {
    const prd = '{"tasks":[{"id":"A","title":"a"},{"id":"B","title":"b"}]}';
    expect(
      archivePrd({ prd, archive: '{"tasks":[{"title":"a","id":"A"},{"id":"A","title":"a"}]}' }, done('A', 'B')),
    ).toEqual({
      moved: 2,
      prd: '{"tasks":[]}',
      archive: '{"tasks":[{"title":"a","id":"A"},{"id":"A","title":"a"},{"id":"B","title":"b"}]}',
    });
  });

  test('what is in the archive already, since a run was killed between the two files, is not put in twice', () => {
    const first = archivePrd({ prd: PRD, archive: null }, done('A'));
    expect(archivePrd({ prd: PRD, archive: first?.archive ?? '' }, done('A'))).toEqual(first);
  });
});

describe('an entry stays', () => {
  test.each([
    ['when no id of the prd is done', PRD, done('Z')],
    [
      'when one that stays depends on it',
      '{"tasks":[{"id":1,"title":"a"},{"id":2,"title":"b","depends_on":[1]},{"id":3,"title":"c","depends_on":[2]}]}',
      done('1', '2'),
    ],
    ['when one that stays has the same id', '{"tasks":[{"id":"A","title":"a"},{"id":"A","title":"b"}]}', done('A')],
    [
      'when one that stays has the same title, and neither an id',
      '{"tasks":[{"title":"a","n":1},{"title":"a","n":2}]}',
      new Set([`prd-${hashId('a')}`]),
    ],
    [
      'when one that stays depends on it by way of another',
      '{"tasks":[{"id":1,"title":"a"},{"id":2,"title":"b","depends_on":[1]},{"id":3,"title":"c","dependencies":2}]}',
      done('1', '2'),
    ],
    ['when it is not a task', '{"tasks":["A",{"id":"A"}],"features":[{"id":"A","title":"a"}]}', done('B')],
    ['when the prd is malformed', PRD.slice(0, 150), done('A')],
  ])('%s', (_, text, ids) => {
    expect(archivePrd({ prd: text, archive: null }, ids)).toBeNull();
  });

  test('but goes when another one has its title alone', () => {
    const prd = '{"tasks":[{"id":"A","title":"a"},{"id":"B","title":"a"},{"title":"a"}]}';
    expect(archivePrd({ prd, archive: null }, done('A'))?.moved).toBe(1);
  });

  test('but goes together with those that depend on it', () => {
    expect(
      archivePrd(
        { prd: '{"tasks":[{"id":1,"title":"a"},{"id":2,"title":"b","depends_on":[1]}]}', archive: null },
        done('1', '2'),
      )?.moved,
    ).toBe(2);
  });
});

describe('an archive that cannot be added to is left alone, and says why', () => {
  test.each([
    [
      'malformed',
      '{"tasks": [\n  {"id": "A"},\n',
      {
        line: 2,
        column: 15,
        message:
          'not valid JSON: the file ends in the middle of a value. Done entries stay in the prd until it is corrected',
      },
    ],
    [
      'no object',
      '[]',
      {
        line: null,
        column: null,
        message: 'it is an array, not an object. Done entries stay in the prd until it is corrected',
      },
    ],
    [
      'a text',
      '"a"',
      {
        line: null,
        column: null,
        message: 'it is a string, not an object. Done entries stay in the prd until it is corrected',
      },
    ],
    [
      'with invalid stories',
      '{"tasks": [], "userStories": {}}',
      {
        line: null,
        column: null,
        message: '`userStories` is not an array. Done entries stay in the prd until it is corrected',
      },
    ],
    [
      'without an array',
      '{"tasks": 1}',
      {
        line: null,
        column: null,
        message: '`tasks` is not an array. Done entries stay in the prd until it is corrected',
      },
    ],
  ])('%s', (_, archive, problem) => {
    expect(archivePrd({ prd: PRD, archive }, done('A'))).toBeNull();
    expect(findArchiveObstacle(archive)).toEqual({ file: '.ralph/prd_archive.json', ...problem });
  });

  test.each([[null], [''], ['{}'], ['{"tasks":[]}']])('%j is fine', (archive) => {
    expect(findArchiveObstacle(archive)).toBeNull();
  });
});

const entry = fc.record(
  {
    id: fc.oneof(fc.nat(5), fc.constantFrom('A', 'a b')),
    title: fc.constantFrom('one', 'two', 'three'),
    depends_on: fc.array(fc.nat(5), { maxLength: 2 }),
    more: fc.jsonValue({ maxDepth: 1 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown),
  },
  { requiredKeys: ['title'] },
);
const entries = fc.array(entry, { maxLength: 8 });

costly('nothing is ever lost, and nothing else is touched', () => {
  fc.assert(
    fc.property(
      entries,
      entries,
      fc.option(entries),
      fc.array(fc.boolean(), { minLength: 16, maxLength: 16 }),
      fc.constantFrom(undefined, 2, '\t'),
      (tasks, userStories, old, mask, indent) => {
        const text = JSON.stringify({ project: 'p', tasks, userStories, after: [1] }, null, indent);
        const archive = old === null ? null : JSON.stringify({ archived_at: 'x', tasks: old }, null, 1);
        const ids = new Set(
          parsePrd('', text)
            .tasks.filter((_, index) => mask[index])
            .map(({ task }) => task.id),
        );
        const archived = archivePrd({ prd: text, archive }, ids);
        if (archived === null) return;
        interface Lists {
          readonly tasks?: readonly unknown[];
          readonly userStories?: readonly unknown[];
        }
        const [before, left, kept] = [text, archived.prd, archived.archive].map((json) => JSON.parse(json) as Lists);
        const all = ({ tasks: some = [], userStories: others = [] }: Lists = {}): readonly string[] =>
          [...some, ...others].map((one) => JSON.stringify(one));
        expect({ ...left, tasks, userStories }).toEqual(before);
        expect(all(left)).toHaveLength(all(before).length - archived.moved);
        const there = new Set([...all(left), ...all(kept)]);
        expect(
          [...all(before), ...(old ?? []).map((one) => JSON.stringify(one))].filter((one) => !there.has(one)),
        ).toEqual([]);
        // The second time there is nothing left to move.
        expect(
          archivePrd(
            { prd: archived.prd, archive: archived.archive },
            new Set(parsePrd('', archived.prd).tasks.flatMap(({ task }) => (ids.has(task.id) ? [task.id] : []))),
          ),
        ).toBeNull();
      },
    ),
  );
});
