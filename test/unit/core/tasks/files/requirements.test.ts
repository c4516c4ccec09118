import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  MAX_FOUND_TASKS,
  MAX_LIST_BYTES,
  parseFoundTasks,
  renderRequirementsPrompt,
} from '../../../../../src/core/tasks/files/requirements.ts';

const listOf = (...tasks: readonly unknown[]): string => JSON.stringify({ tasks });

describe('the list that the agent wrote', () => {
  test('is read with what it leaves out', () => {
    expect(
      parseFoundTasks(
        listOf({ title: 'Add a page', body: 'With a title.', priority: 'high', optional: true }, { title: 'Test it' }),
      ),
    ).toEqual({
      kind: 'tasks',
      tasks: [
        { title: 'Add a page', body: 'With a title.', priority: 'high', optional: true },
        { title: 'Test it', body: '', priority: 'medium', optional: false },
      ],
      problems: [],
    });
  });

  test.each<[string, string, string]>([
    ['no JSON', 'Here are the tasks', 'it is not JSON of the form { "tasks": [ … ] }'],
    ['another form', '[{"title":"x"}]', 'it is not JSON of the form { "tasks": [ … ] }'],
    ['cut off', '{"tasks":[{"title":"x"', 'it is not JSON of the form { "tasks": [ … ] }'],
    ['endless', `{"tasks":[]}${' '.repeat(600_000)}`, 'it is longer than 512 KiB'],
  ])('%s is refused in words', (_, text, why) => {
    expect(parseFoundTasks(text)).toEqual({ kind: 'unreadable', why });
  });

  test.each<[string, unknown, string]>([
    ['no title', { body: 'x' }, 'Task 2 is left out: title does not have the requested form.'],
    ['an empty title', { title: ' \n ' }, 'Task 2 is left out: its title is empty.'],
    [
      'an unknown priority',
      { title: 'x', priority: 'P9' },
      'Task 2 is left out: priority does not have the requested form.',
    ],
    ['no object', 7, 'Task 2 is left out: it does not have the requested form.'],
  ])('an entry with %s is left out and said; the others stay', (_, entry, problem) => {
    expect(parseFoundTasks(listOf({ title: 'a' }, entry, { title: 'c' }))).toMatchObject({
      kind: 'tasks',
      tasks: [{ title: 'a' }, { title: 'c' }],
      problems: [problem],
    });
  });

  test('titles are one line, and hidden text is not part of a task', () => {
    expect(parseFoundTasks(listOf({ title: 'a\n- [ ] b', body: 'x<!-- y -->' }))).toMatchObject({
      tasks: [{ title: 'a - [ ] b', body: 'x' }],
    });
  });

  test.each<[string, string, string]>([
    ['blanks around it', ' \n x \n', 'x'],
    ['4,000 characters', 'x'.repeat(4_000), 'x'.repeat(4_000)],
    ['more than 4,000 characters', 'x'.repeat(4_001), 'x'.repeat(4_000)],
    ['a blank where it is cut', `${'x'.repeat(3_999)} y`, 'x'.repeat(3_999)],
  ])('a body with %s is trimmed and capped', (_, body, expected) => {
    expect(parseFoundTasks(listOf({ title: 'a', body }))).toMatchObject({ tasks: [{ body: expected }] });
  });

  test('a list of exactly 512 KiB is read, and one of exactly 100 tasks is whole', () => {
    const list = listOf(...Array.from({ length: MAX_FOUND_TASKS }, () => ({ title: 'a' })));
    expect(parseFoundTasks(list.padEnd(MAX_LIST_BYTES))).toMatchObject({ kind: 'tasks', problems: [] });
    expect(parseFoundTasks(list.padEnd(MAX_LIST_BYTES + 1)).kind).toBe('unreadable');
  });

  test('the cap counts tasks, not what is left out', () => {
    const entries = Array.from({ length: MAX_FOUND_TASKS }, (_, number) => ({ title: `t${String(number)}` }));
    expect(parseFoundTasks(listOf({ title: '' }, ...entries, { title: 'last', optional: 'x' }))).toEqual({
      kind: 'tasks',
      tasks: entries.map(({ title }) => ({ title, body: '', priority: 'medium', optional: false })),
      problems: [
        'Task 1 is left out: its title is empty.',
        'Task 102 is left out: optional does not have the requested form.',
      ],
    });
  });

  test('what is beyond the cap is left out and said', () => {
    const found = parseFoundTasks(
      listOf(...Array.from({ length: MAX_FOUND_TASKS + 3 }, (_, number) => ({ title: `t${String(number)}` }))),
    );
    expect(found).toMatchObject({ kind: 'tasks', problems: ['3 tasks beyond the first 100 are left out.'] });
    expect(found.kind === 'tasks' && found.tasks).toHaveLength(MAX_FOUND_TASKS);
  });

  test('no text makes it throw', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.json().map((json) => `{"tasks":[${json}]}`),
        ),
        (text) => {
          expect(['tasks', 'unreadable']).toContain(parseFoundTasks(text).kind);
        },
      ),
    );
  });
});

test('the prompt names both files and no text of the document', () => {
  expect(renderRequirementsPrompt('requirements.md', 'tasks.json')).toMatch(/requirements\.md[^]*tasks\.json/);
});
