import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_FOUND_TASKS, parseFoundTasks, requirementsPrompt } from '../../../../src/core/tasks/files/requirements.ts';

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
    ['no JSON', 'Here are the tasks', 'not JSON of the form'],
    ['another form', '[{"title":"x"}]', 'not JSON of the form'],
    ['cut off', '{"tasks":[{"title":"x"', 'not JSON of the form'],
    ['endless', `{"tasks":[]}${' '.repeat(600_000)}`, 'longer than 512 KiB'],
  ])('%s is refused in words', (_, text, why) => {
    expect(parseFoundTasks(text)).toEqual({ kind: 'unreadable', why: expect.stringContaining(why) as string });
  });

  test.each<[string, unknown, string]>([
    ['no title', { body: 'x' }, 'Task 2 is left out: title is not as asked for.'],
    ['an empty title', { title: ' \n ' }, 'Task 2 is left out: its title is empty.'],
    ['an unknown priority', { title: 'x', priority: 'P9' }, 'Task 2 is left out: priority is not as asked for.'],
    ['no object', 7, 'Task 2 is left out: it is not as asked for.'],
  ])('an entry with %s is left out and said; the others stay', (_, entry, problem) => {
    expect(parseFoundTasks(listOf({ title: 'a' }, entry, { title: 'c' }))).toMatchObject({
      kind: 'tasks',
      tasks: [{ title: 'a' }, { title: 'c' }],
      problems: [problem],
    });
  });

  test('titles are one line, and hidden text is no part of a task', () => {
    expect(parseFoundTasks(listOf({ title: 'a\n- [ ] b', body: 'x<!-- y -->' }))).toMatchObject({
      tasks: [{ title: 'a - [ ] b', body: 'x' }],
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
  expect(requirementsPrompt('requirements.md', 'tasks.json')).toMatch(/requirements\.md[^]*tasks\.json/);
});
